"""Runs that were measured, and what their times say: below the studies that make them and the reports that show them.

- runs: one run: its place in the matrix, its times, what it stored; written to and read from study records
- comparison: repetitions of a setting, layouts against each other, the winner
- study: all results of a study, as reports show them
"""
