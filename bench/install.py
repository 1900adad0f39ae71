"""What an installation costs: the wheel and the base environment in bytes, and how long Python and the command take to start.

    make bench NAME=install [SIZE=quick|full]

Builds the wheel as `pip wheel .` does, installs it without extras into a new environment and starts Python there. Each round starts
`python -c pass`, `import tailrace` and `tailrace --help`, in rotating order; a claim is about the median of the differences of the
rounds. `full` has more rounds. It needs the package index for the wheels of the base install.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table
from tailrace.statistics import LEVEL, RESAMPLES

from bench import harness
from bench.harness import BenchError, Claim, console

ROUNDS = {"quick": 15, "full": 61}
NOTHING, IMPORT, HELP = "python -c pass", "import tailrace", "tailrace --help"
BUILD_TIMEOUT_S = 3600


def run(words: Sequence[Any], timeout_s: float = 600) -> str:
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=timeout_s, cwd="/", env={})
    if done.returncode != 0:
        raise BenchError(f"{' '.join(str(word) for word in words[:4])} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def pip_of(folder: Path) -> list[Any]:
    """A pip in an environment of its own."""
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    return [folder / "bin" / "python", "-m", "pip"]


def build_wheel(pip: Sequence[Any], folder: Path) -> tuple[Path, float, float]:
    """The wheel, and the seconds that it took to build, those to fetch what builds it included: by the clock, and of processors.
    Nothing of an earlier build is used."""
    began, used = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    words = [*pip, "wheel", "--no-deps", "--wheel-dir", folder, f"--config-settings=build-dir={folder / 'build'}", harness.ROOT]
    env = {name: value for name, value in os.environ.items() if not name.endswith("_COMPILER_LAUNCHER")}
    env["CCACHE_DISABLE"] = "1"
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=BUILD_TIMEOUT_S, env=env)
    if done.returncode != 0:
        raise BenchError(f"pip wheel failed:\n{done.stdout[-3000:]}{done.stderr[-1000:]}")
    seconds, now = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    processor_s = now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime
    return next(folder.glob("tailrace-*.whl")), seconds, processor_s


def install(pip: Sequence[Any], wheel: Path, folder: Path) -> Path:
    """A new environment with the wheel and what it depends on, and without pip. Its Python."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    python = folder / "bin" / "python"
    words = [*pip, "--python", python, "install", "--quiet", wheel]
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=BUILD_TIMEOUT_S)
    if done.returncode != 0:
        raise BenchError(f"pip install failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return python


def bytes_below(folder: Path) -> int:
    return sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink())


def timed(words: Sequence[Any]) -> float:
    began = time.perf_counter()
    run(words)
    return time.perf_counter() - began


def start_times(python: Path, rounds: int) -> dict[str, list[float]]:
    """Seconds of each start, round by round; the first round is not kept."""
    commands: Mapping[str, Sequence[Any]] = {
        NOTHING: [python, "-c", "pass"],
        IMPORT: [python, "-c", "import tailrace"],
        HELP: [python.with_name("tailrace"), "--help"],
    }
    names = list(commands)
    taken: dict[str, list[float]] = {name: [] for name in names}
    for number in range(rounds + 1):
        for name in names[number % len(names) :] + names[: number % len(names)]:
            seconds = timed(commands[name])
            if number > 0:
                taken[name].append(seconds)
    return taken


def median_of_differences(taken: Sequence[float], before: Sequence[float]) -> tuple[float, tuple[float, float]]:
    """In milliseconds, with its bootstrap interval."""
    differences = 1e3 * (np.array(taken) - np.array(before))
    drawn = np.random.default_rng(1).integers(0, len(differences), (RESAMPLES, len(differences)))
    low, high = np.quantile(np.median(differences[drawn], axis=1), [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(np.median(differences)), (float(low), float(high))


def measure(size: str) -> dict[str, tuple[float, tuple[float, float]]]:
    """Each figure with its interval."""
    with tempfile.TemporaryDirectory(prefix="tailrace-install-") as made:
        folder = Path(made)
        pip = pip_of(folder / "builder")
        wheel, seconds, processor_s = build_wheel(pip, folder)
        python = install(pip, wheel, folder / "environment")
        before = bytes_below(folder / "environment")
        loaded = run([python, "-c", "import sys, tailrace; print(int('numpy' in sys.modules))"])
        run([python, "-c", "import tailrace; tailrace.keys()"])  # the library can be loaded
        taken = start_times(python, ROUNDS[size])
        exact = {
            "wheel-bytes": wheel.stat().st_size / 1e6,
            "environment-bytes": before / 1e6,
            "wheel-seconds": seconds,
            "wheel-processor-seconds": processor_s,
            "numpy-at-import": float(loaded),
        }
    show(taken)
    return {
        **{name: (figure, (figure, figure)) for name, figure in exact.items()},
        "import-time": median_of_differences(taken[IMPORT], taken[NOTHING]),
        "help-time": median_of_differences(taken[HELP], taken[NOTHING]),
    }


def show(taken: Mapping[str, Sequence[float]]) -> None:
    table = Table(title="Starts, in milliseconds", title_justify="left")
    for heading in ("start", "median", "least", "most"):
        table.add_column(heading, justify="left" if heading == "start" else "right")
    for name, seconds in taken.items():
        table.add_row(name, *(f"{1e3 * value:.0f}" for value in (statistics.median(seconds), min(seconds), max(seconds))))
    console.print(table)


def show_sizes(figures: Mapping[str, tuple[float, Any]]) -> None:
    console.print(
        f"wheel: {figures['wheel-bytes'][0]:.1f} MB, built in {figures['wheel-seconds'][0]:.0f} s, "
        f"{figures['wheel-processor-seconds'][0]:.0f} s of processors; environment: {figures['environment-bytes'][0]:.1f} MB"
    )


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench.install", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--size", choices=tuple(ROUNDS), default="quick")
    given = parser.parse_args()
    figures = measure(given.size)
    show_sizes(figures)
    claims = [
        Claim(
            wanted["id"],
            wanted["text"],
            figures[wanted["id"]][0],
            wanted["bound"],
            wanted["unit"],
            {"interval": figures[wanted["id"]][1]},
            at_most=True,
        )
        for wanted in harness.bounds("install")["claims"]
    ]
    harness.print_claims(claims, "Claims (each at most its bound)")
    rows = [{"figure": name, "value": value, "interval": list(interval)} for name, (value, interval) in figures.items()]
    path = harness.write_record("install", {"size": given.size}, rows, claims)
    console.print(f"{path.relative_to(harness.ROOT)}")
    return 0 if all(claim.holds for claim in claims) else 1


if __name__ == "__main__":
    sys.exit(main())
