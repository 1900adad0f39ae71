"""Studies: a matrix of runs, measured in turn, every output verified.

- spec, application: reads a study file and kernel.toml, and checks them
- plan: the matrix as a list of cases in order; pure
- command: the commands, environment and configuration of a case; pure
- folder: the study's folder: its journal, the locks on it and on the output directories
- measure, reader: sizes, fsync and xarray after a run
- run: one case: run, measure, verify, remove
- runner: all cases that are left
"""
