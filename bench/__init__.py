"""Benches of Tailrace: `make bench NAME=...` runs `python -m bench.NAME`; docs/benchmarks.md says what is measured."""
