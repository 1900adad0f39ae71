"""Files that were written on node-local scratch: their way to the target, and out of bundles, by the program tailraced."""
