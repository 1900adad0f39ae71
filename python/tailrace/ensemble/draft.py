"""Writes a first ensemble file, from a directory in which a model can run."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from tailrace.ensemble.values import EnsembleError
from tailrace.plain_text import quoted
from tailrace.toml_table import literal

FILE = "ensemble.toml"
LARGE_BYTES = 64 << 20


def write_draft(model: Path, command: Sequence[str], folder: Path) -> Path:
    """Writes FILE into `folder`, and returns its path. Raises EnsembleError if FILE exists, or the model's directory does not."""
    if not model.is_dir():
        raise EnsembleError(f"{model}: no such directory: name the directory in which the model works")
    path = folder / FILE
    if path.exists():
        raise EnsembleError(f"{path}: exists already: edit it, or remove it first")
    try:
        shown = str(model.resolve().relative_to(folder.resolve()))
    except ValueError:
        shown = str(model.resolve())
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text(draft(model, shown, command))
    return path


def draft(model: Path, shown: str, command: Sequence[str]) -> str:
    files = sorted(file for file in model.rglob("*") if file.is_file())
    large = [str(file.relative_to(model)) for file in files if file.stat().st_size >= LARGE_BYTES]
    pairs = [file for file in files if file.suffix == ".tpl"]
    templates = ", ".join(f"{literal(file.stem)} = {literal(f'{shown}/{file.relative_to(model)}')}" for file in pairs)
    words = list(command) or _guess(files, model)
    if shown == ".":
        raise EnsembleError(
            f"{model}: the ensemble file must be outside of the model's directory: start this in the folder above it"
        )
    return f"""# An ensemble of {shown}. docs/ensembles.md explains every key.
# Next: mark where parameters belong, then `tailrace ensemble check {quoted(FILE)}`, then `tailrace ensemble run {quoted(FILE)}`.

command = {literal(words)}  # runs in the member's own directory: {shlex.join(words)}

# The member's file = its template in this folder. A template has {{k}} or {{k:.4e}} where the value of k belongs.
templates = {{ {templates} }}

[inputs]
directory = {literal(shown)}  # each member gets a copy of its {len(files)} files
read_only = {literal(large)}  # large files that the model only reads: one copy on each node

[parameters]
sampler = "latin-hypercube"  # needs scipy, "random" does not; or: file = "parameters.csv", with a row for each member
members = 100
seed = 1

[parameters.ranges]
# k = [1e-6, 1e-3, "log"]

[results]
# head = {{ file = "out.csv", column = "head" }}
# flow = {{ file = "model.rpt", regex = 'Outflow +(\\S+)' }}

[limits]
timeout_s = 3600
retries = 0
"""


def _guess(files: Sequence[Path], model: Path) -> list[str]:
    """The command: the first executable file of the model, else the placeholder ./model."""
    programs = [file for file in files if file.stat().st_mode & 0o100]
    return [f"./{programs[0].relative_to(model)}"] if programs else ["./model"]
