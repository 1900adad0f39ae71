"""Benches of Tailrace: `make bench NAME=...` runs `python -m bench.NAME`; docs/benchmarks.md describes what each measures."""
