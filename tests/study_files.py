"""Study files of the fake application."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import tomli_w

from tests.environment import ROOT

PROGRAM = str(ROOT / "tests" / "fake_application.py")
WORDS = [f"{key}={{{key}}}" for key in ("dir", "run", "output", "layout", "steps", "sweeps", "behaviour")]

APPLICATION: dict[str, Any] = {
    "name": "fake",
    "launcher": "none",
    "command": ["{python}", PROGRAM, "run", *WORDS],
    "verify": ["{python}", PROGRAM, "verify", "{dir}"],
    "streams": ["history"],
    "output_phases": ["9write"],
    "parameters": {"sweeps": 3, "behaviour": ""},
}


def study_values(**changes: Any) -> dict[str, Any]:
    """A small study as a TOML table; `matrix` and `parameters` are merged, other keys replaced."""
    values: dict[str, Any] = {
        "name": "small",
        "repetitions": 2,
        "steps": 2,
        "timeout_s": 30,
        "min_free_bytes": 1,
        "matrix": {"ranks": [1], "layouts": ["native", "single", "fpp"]},
        "parameters": {},
        "application": APPLICATION,
    }
    for key, value in changes.items():
        values[key] = {**values[key], **value} if key in ("matrix", "parameters", "application") else value
    return values


def write_study(folder: Path, **changes: Any) -> Path:
    path = folder / "small.toml"
    path.write_text(tomli_w.dumps(study_values(**changes)))
    return path
