"""Programs with a cause of slow I/O, and the same without it: tests/findings/, one for each rule of the report. Both are recorded,
on a file system that is made slow by a preloaded library (tests/findings/slow.c)."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

from bench import harness

PROGRAMS = harness.ROOT / "tests" / "findings"
FLAGS = ("-O1", "-Wall", "-Wextra", "-Werror")
LIMIT_S = 60


def build_slow(folder: Path) -> Path:
    library = folder / "slow.so"
    subprocess.run(["gcc", *FLAGS, "-shared", "-fPIC", PROGRAMS / "slow.c", "-o", library, "-ldl"], check=True)
    return library


class Cause:
    """The program of one rule."""

    def __init__(self, rule: str, folder: Path) -> None:
        source = PROGRAMS / f"{rule}.c"
        text = source.read_text()
        ranks = re.search(r"^// ranks: (\d+)$", text, re.M)
        slow = re.search(r"^// slow:(.*)$", text, re.M)
        if slow is None:
            raise harness.BenchError(f"{source}: a line `// slow: CALL=MICROSECONDS` must say what is slow")
        self.slow = slow[1].strip()
        self._program = folder / rule
        launcher = ["mpirun", "--oversubscribe", "--bind-to", "none", "-n", ranks[1]] if ranks else []
        self._words = [*launcher, str(self._program)]
        compiler = "mpicc" if ranks else "gcc"
        subprocess.run([compiler, *FLAGS, source, "-o", self._program], check=True)

    def record(self, which: str, here: Path, command: Sequence[str], slow: Path) -> Path:
        """The log of the program with the cause, or of its `twin`. `here` is a new folder."""
        here.mkdir()
        env = harness.mpi_environment({"LD_PRELOAD": str(slow), "SLOW": self.slow})
        recorded = [*command, "run", "--log", "log", "--", *self._words, which]
        done = subprocess.run(recorded, cwd=here, env=env, capture_output=True, text=True, timeout=LIMIT_S, check=False)
        if done.returncode != 0:
            raise harness.BenchError(f"{' '.join(recorded)} ended with status {done.returncode}: {done.stderr[-2000:]}")
        return here / "log"
