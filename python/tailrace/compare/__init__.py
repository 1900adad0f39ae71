"""Runs a command in turn without and with its files placed by rules. Compares the files that runs leave, and their times.

- copies: each run has a copy of the working folder
- outputs: what a run leaves in its copy, by the names that programs see; differences: those of all runs side by side
- contents, digests: the content of NetCDF and HDF5 files whose bytes differ
- turns: makes one run, without rules or with those of [place] and [stage]
- kept: the lines of configuration that are worth keeping
- comparison: all rounds, and the verdict on them
"""
