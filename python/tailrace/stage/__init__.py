"""Moves files from node-local scratch to their target, and extracts files from bundles, by the program tailraced."""
