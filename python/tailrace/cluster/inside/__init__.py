"""The processes of a cluster: its supervisor, the first process of each node, and the agent that starts programs on a node.

These modules use only the standard library and import each other relatively. They also run as a package `inside` of their own, in
an interpreter without Tailrace: so a node starts in milliseconds and loads neither MPI nor numpy.
"""
