"""Files that were written on node-local scratch: their way to the target, by the program tailraced."""
