"""Makes tests/data/earlier-COMMIT.tar.xz: streams, logs and study records as the checkout in which it runs writes them.

    PYTHONPATH=python:. .venv/bin/python tests/data/make_earlier.py COMMIT

tests/test_earlier_versions.py reads, appends to and verifies what is in it. Run it once, at the last commit before a change of a
format.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import tomli_w

from tests.earlier import SIZES, STREAMS, STUDY, TRACE_FILES, WRITTEN_STEPS
from tests.environment import ROOT, open_mpi_environment
from tests.study_files import study_values

BUILD = ROOT / "build"
FAKE = Path("/tmp/tailrace-earlier/fake_application.py")  # the path is part of the record: the same wherever the checkout lies


def mpirun(ranks: int, *words: object) -> None:
    command = ["mpirun", "-n", str(ranks), *map(str, words)]
    environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT / "python"), **open_mpi_environment()}
    subprocess.run(command, check=True, env=environment)


def write_streams(folder: Path) -> None:
    for name, options in STREAMS.items():
        words = ["history", options, f"steps={WRITTEN_STEPS}", SIZES.argument]
        mpirun(3, BUILD / "tests" / "write_case", folder / name, *words)
    mpirun(3, sys.executable, ROOT / "tests" / "python_ragged.py", "write", folder / "ragged", "particles", "node", WRITTEN_STEPS)


def record_run(folder: Path) -> None:
    """A run of two ranks that writes and reads back its own files, with the figures that this commit shows of it."""
    command = [BUILD / "bin" / "tailrace", "run", "--log", folder / "log", "--", "mpirun", "-n", "2"]
    lines = [
        "import os",
        "name = 'rank' + os.environ['OMPI_COMM_WORLD_RANK'] + '.bin'",
        "open(name, 'wb').write(bytes(5000))",
        "open(name, 'rb').read()",
    ]
    subprocess.run(
        [*map(str, command), "python3", "-c", "\n".join(lines)],
        check=True,
        cwd=folder,
        env={**os.environ, **open_mpi_environment()},
    )
    shown = subprocess.run(
        [str(BUILD / "bin" / "tailrace"), "trace", "show", str(folder / "log"), "--json"], capture_output=True, check=True
    )
    files = {Path(name).name: sums for name, sums in json.loads(shown.stdout)["files"].items()}
    (folder / "shown.json").write_text(json.dumps({name: files[name] for name in TRACE_FILES}, indent=1))
    for name in TRACE_FILES:
        (folder / name).unlink()


def run_study(folder: Path) -> None:
    FAKE.parent.mkdir(exist_ok=True)
    shutil.copy(ROOT / "tests" / "fake_application.py", FAKE)
    values = study_values()
    for key in ("command", "verify"):
        values["application"][key] = [
            str(FAKE) if word.endswith("fake_application.py") else word for word in values["application"][key]
        ]
    (folder / f"{STUDY}.toml").write_text(tomli_w.dumps(values))
    command = [str(BUILD / "bin" / "tailrace"), "study", f"{STUDY}.toml", "--out", "results", "--json"]
    shown = subprocess.run(command, cwd=folder, capture_output=True, check=True)
    (folder / "answer.json").write_bytes(shown.stdout)
    shutil.rmtree(FAKE.parent)


def main() -> None:
    commit = sys.argv[1]
    scratch = BUILD / "earlier"
    shutil.rmtree(scratch, ignore_errors=True)
    for name, make in {"streams": write_streams, "trace": record_run, "study": run_study}.items():
        (scratch / name).mkdir(parents=True)
        make(scratch / name)
    with tarfile.open(ROOT / "tests" / "data" / f"earlier-{commit}.tar.xz", "w:xz") as archive:
        for path in sorted(scratch.iterdir()):
            archive.add(path, path.name)


if __name__ == "__main__":
    main()
