"""A run that writes some steps and tells what became of each: python_two_runs.py DIRECTORY STEPS PAUSE_S OPTIONS(JSON).

The value of each step is its time, which is that of a clock that all processes share. One line of JSON for each step that was
written, and one for the error that ended it.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import numpy as np
import tailrace

CELLS = 64


def tell(**what: object) -> None:
    print(json.dumps(what), flush=True)


def write(directory: str, steps: int, pause_s: float, options: dict[str, Any]) -> None:
    with tailrace.open(directory, "h", **options) as stream:
        stream.dim("x", CELLS)
        stream.var("T", ("x",), "f8")
        stream.var("fixed", ("x",), "f8", static=True)
        tell(event="opened")
        for _ in range(steps):
            now = time.monotonic()
            with stream.step(time=now) as step:
                step.put("T", np.full(CELLS, now), offset=(0,))
                step.put("fixed", np.arange(float(CELLS)), offset=(0,))
            tell(event="step", time=now)
            time.sleep(pause_s)


def main() -> None:
    directory, steps, pause_s, options = sys.argv[1:]
    try:
        write(directory, int(steps), float(pause_s), json.loads(options))
    except tailrace.errors.Error as error:
        tell(event="error", status=type(error).__name__, text=str(error))
        raise SystemExit(3) from error
    tell(event="closed")


if __name__ == "__main__":
    main()
