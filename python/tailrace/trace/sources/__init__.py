"""Inputs: each reads what others have recorded or measured into the tables of schema.py."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

from tailrace.trace.log import LogError
from tailrace.trace.recording import Recording
from tailrace.trace.sources import darshan, ior, parquet, run

# To add an input: a module with WHAT, fits(path) and read(path), and its name here.
SOURCES: tuple[ModuleType, ...] = (run, parquet, darshan, ior)


def read(path: Path) -> Recording:
    """Raises LogError where it is no input or a damaged one, OSError, MissingLibraryError."""
    path.stat()  # what is not there is told as such
    for source in SOURCES:
        if source.fits(path):
            recording: Recording = source.read(path)
            return recording
    raise LogError(f"{path}: none of the inputs, which are {', '.join(source.WHAT for source in SOURCES)}")
