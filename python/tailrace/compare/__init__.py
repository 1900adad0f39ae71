"""A command run by turns, plainly and with its files placed by rules: are the files the same, and what does it bring?

- copies: each run has a copy of the working folder
- outputs: what a run leaves in its copy, by the names that programs see; differences: those of all runs side by side
- contents, digests: what NetCDF and HDF5 files say, where their bytes differ
- turns: one run, plain, or placed and staged
- kept: the lines of configuration that are worth keeping
- comparison: all rounds, and what they say
"""
