"""Programs with a cause of slow I/O, and the same without it: tests/findings/, one for each rule of the report. Both are recorded,
on a file system that is made slow by a preloaded library (tests/findings/slow.c)."""

from __future__ import annotations

import contextlib
import re
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench import harness

PROGRAMS = harness.ROOT / "tests" / "findings"
FLAGS = ("-O1", "-Wall", "-Wextra", "-Werror")
LIMIT_S = 60
IMAGE_BYTES = 512 << 20


def build_slow(folder: Path) -> Path:
    library = folder / "slow.so"
    subprocess.run(["gcc", *FLAGS, "-shared", "-fPIC", PROGRAMS / "slow.c", "-o", library, "-ldl"], check=True)
    return library


@contextlib.contextmanager
def ext4_on_loop(folder: Path, inodes: int, image_bytes: int, *options: str) -> Iterator[Path]:
    """A new ext4 file system in a file of `folder`, which is new; `options`: of mkfs.ext4. Raises BenchError where there can be
    none: only root may mount."""
    folder.mkdir(exist_ok=True)
    image, mounted = folder / "disk.img", folder / "mounted"
    mounted.mkdir()
    with image.open("wb") as disk:
        disk.truncate(image_bytes)
    made = ["mkfs.ext4", "-q", "-F", *options, "-N", str(inodes), str(image)]
    try:
        for words in (made, ["mount", "-o", "loop", str(image), str(mounted)]):
            subprocess.run(words, check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError) as error:
        said = getattr(error, "stderr", "") or error
        raise harness.BenchError(f"no file system could be made in {image} and mounted: {said}") from None
    try:
        yield mounted
    finally:
        subprocess.run(["umount", str(mounted)], check=True)


def directories_without_index(
    folder: Path, inodes: int = 40_000, image_bytes: int = IMAGE_BYTES
) -> contextlib.AbstractContextManager[Path]:
    """A new ext4 file system whose directories are lists: a name is looked up by reading all. As ext4_on_loop."""
    return ext4_on_loop(folder, inodes, image_bytes, "-O", "^dir_index")


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

    def record(self, which: str, here: Path, command: Sequence[str], slow: Path | None, size: str = "") -> Path:
        """The log of the program with the cause, or of its `twin`, in the new folder `here`. Without `slow`, no call is delayed."""
        here.mkdir()
        env = harness.mpi_environment({"LD_PRELOAD": str(slow), "SLOW": self.slow} if slow else {})
        recorded = [*command, "run", "--log", "log", "--", *self._words, which, *([size] if size else [])]
        done = subprocess.run(recorded, cwd=here, env=env, capture_output=True, text=True, timeout=LIMIT_S, check=False)
        if done.returncode != 0:
            raise harness.BenchError(f"{' '.join(recorded)} ended with status {done.returncode}: {done.stderr[-2000:]}")
        return here / "log"
