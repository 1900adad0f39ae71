"""A batch of mutations, in a process whose libraries have one thread each: threads that spin take more time than reading.

With `sanitized` the library for one process is that of `make readers`, under the address and undefined sanitizers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings
from collections.abc import Mapping
from pathlib import Path

from tests.environment import ROOT
from tests.one_process import BUILT, LIBRARY

LIMIT_S = 600


def check_mutations(
    module: str, source: str, seed: int, number: int, count: int, *, sanitized: Mapping[str, str] | None = None
) -> None:
    """`sanitized`: the variables of sanitizers()."""
    command = [sys.executable, "-m", module, source, str(seed), str(count), str(number * count)]
    one_thread = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    environment = {**os.environ, **one_thread, "PYTHONPATH": f"{ROOT / 'python'}:{ROOT}", **(sanitized or {})}
    limit_s = LIMIT_S * (4 if sanitized else 1)
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=limit_s, check=False)
    assert done.returncode == 0, done.stderr
    for line in done.stderr.splitlines():
        if line.startswith("once, and not again: "):
            warnings.warn(line, stacklevel=2)
    found = json.loads(done.stdout)
    assert found["faults"] == {}, f"alone: python -m {module}, and what stands before a fault"
    assert sum(found["counts"].values()) == count


def sanitizers(build_dir: Path, reports: Path) -> dict[str, str]:
    """Variables of a Python whose reading is watched. `reports`: the beginning of the names of files with what was found."""
    library = build_dir / "readers" / "python" / "_without_mpi" / BUILT.name
    assert library.exists(), f"{library} is not built: run `make readers`"
    runtimes = [_of_compiler(name) for name in ("libasan.so", "libubsan.so", "libstdc++.so")]
    return {
        LIBRARY: str(library),
        "LD_PRELOAD": ":".join(runtimes),
        "PYTHONMALLOC": "malloc",  # so that a read behind an array is seen
        # Python never frees what it keeps for ever. The quarantine is within the limit of memory.
        "ASAN_OPTIONS": f"detect_leaks=0:abort_on_error=1:quarantine_size_mb=64:allocator_may_return_null=1:log_path={reports}",
        "UBSAN_OPTIONS": f"print_stacktrace=1:halt_on_error=1:abort_on_error=1:log_path={reports}",
    }


def _of_compiler(name: str) -> str:
    return subprocess.run(["g++", f"-print-file-name={name}"], capture_output=True, text=True, check=True).stdout.strip()
