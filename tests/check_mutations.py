"""A batch of mutations, in a process whose libraries have one thread each: threads that spin take more time than reading."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings

from tests.environment import ROOT

LIMIT_S = 600


def check_mutations(module: str, source: str, seed: int, number: int, count: int) -> None:
    command = [sys.executable, "-m", module, source, str(seed), str(count), str(number * count)]
    one_thread = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    environment = {**os.environ, **one_thread, "PYTHONPATH": f"{ROOT / 'python'}:{ROOT}"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert done.returncode == 0, done.stderr
    for line in done.stderr.splitlines():
        if line.startswith("once, and not again: "):
            warnings.warn(line, stacklevel=2)
    found = json.loads(done.stdout)
    assert found["faults"] == {}, f"alone: python -m {module}, and what stands before a fault"
    assert sum(found["counts"].values()) == count
