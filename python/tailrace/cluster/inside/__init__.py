"""What runs within a cluster: its supervisor, the first process of each node, and the agent that starts programs on a node.

These modules use the standard library alone and import each other relatively: they also run as a package `inside` of their own,
in an interpreter that does not load Tailrace, so that a node starts in milliseconds and drags neither MPI nor numpy along.
"""
