"""Studies: a matrix of runs, measured in turn, every output verified.

spec, application   what to run: values read from TOML
plan                the matrix as a list of cases in order; pure
process, measure    effects: one program to its end; what it left on storage
run, conduct        one case; the whole study with its journal
statistics          medians, ratios and intervals from results; pure
"""
