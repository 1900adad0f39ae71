"""A command run by turns, plainly and with its files placed by rules: are the files the same, and what does it bring?

- copies: each run has a copy of the working folder
- outputs: what a run leaves in its copy, by the names that programs see; two of them side by side
- turns: one run, plain or placed
- comparison: all rounds, and what they say
"""
