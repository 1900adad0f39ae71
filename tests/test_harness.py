"""The test harness itself: a program that never ends is killed with its ranks, a failure is shown, --resume skips what passed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.environment import HANGS_S, ROOT, is_running
from tests.mpirun import Mpirun, run_within

pytestmark = pytest.mark.fast

ENDLESS = """
import os, sys, time
open(f"{sys.argv[1]}/{os.getpid()}", "w")
print("started", flush=True)
while True: time.sleep(0.1)
"""


@pytest.mark.both_mpis(1)
def test_endless_ranks_are_killed_and_shown(mpirun: Mpirun, tmp_path: Path) -> None:
    (tmp_path / "endless.py").write_text(ENDLESS)
    pids = tmp_path / "pids"
    pids.mkdir()
    with pytest.raises(pytest.fail.Exception, match=r"not finished after 3 s(?s:.*)started"):
        mpirun(tmp_path / "endless.py", 2, [pids], timeout_s=3)
    ranks = [int(path.name) for path in pids.iterdir()]
    assert len(ranks) == 2
    deadline = time.monotonic() + 5
    while any(map(is_running, ranks)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(map(is_running, ranks))


def test_failing_program_fails_with_its_output(mpirun: Mpirun, tmp_path: Path) -> None:
    (tmp_path / "failing.py").write_text("print('what went wrong'); raise SystemExit(3)")
    with pytest.raises(pytest.fail.Exception, match="what went wrong"):
        mpirun(tmp_path / "failing.py", 2)
    assert mpirun(tmp_path / "failing.py", 1, check=False).returncode == 3


def test_a_launcher_that_notes_an_end_too_late_is_no_failure(mpirun: Mpirun, tmp_path: Path) -> None:
    """The launcher prints the same for a rank that ends without MPI_Finalize, which is easier to produce."""
    (tmp_path / "ends.py").write_text("import os; from mpi4py import MPI; MPI.COMM_WORLD.Barrier(); os._exit(0)")
    with pytest.warns(UserWarning, match="noted too late"):
        assert mpirun(tmp_path / "ends.py", 2).returncode == 0


def test_program_that_is_not_built_fails(mpirun: Mpirun) -> None:
    with pytest.raises(pytest.fail.Exception, match="is not built"):
        mpirun("no-such-program", 1)


def test_missing_program_fails_and_does_not_skip(needs: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")
    needs("sh")  # type: ignore[operator]
    with pytest.raises(pytest.fail.Exception, match="no-such-program"):
        needs("sh", "no-such-program")  # type: ignore[operator]


def test_resume_skips_what_passed_with_the_same_sources(tmp_path: Path) -> None:
    """What failed runs again. After a change of a test module its tests, of a page those that name pages, of other files all."""
    (tmp_path / "pyproject.toml").write_text('[tool.pytest.ini_options]\naddopts = "-p tests.conftest"\n')
    (tmp_path / "test_two.py").write_text(
        "import os, pytest\ndef test_a(): pass\ndef test_b(): assert 'MENDED' in os.environ\ndef test_c(): pytest.skip('why')\n"
    )
    (tmp_path / "test_pages.py").write_text("# reads docs\ndef test_page(): pass\n")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/page.md").write_text("one\n")
    (tmp_path / ".gitignore").write_text("record.jsonl\n__pycache__\n")
    for command in ("init", "add --all", "-c user.name=a -c user.email=b commit -m one"):
        subprocess.run(["git", *command.split()], cwd=tmp_path, check=True, capture_output=True)

    def run(**env: str) -> str:
        command = [sys.executable, "-m", "pytest", "-q", "--resume=record.jsonl", "-p", "no:cacheprovider", "--rootdir=."]
        return run_within(command, {"PYTHONPATH": f"{ROOT}:{ROOT}/python", **env}, cwd=tmp_path).stdout

    assert "1 failed, 2 passed, 1 skipped" in run()
    lines = [json.loads(line) for line in (tmp_path / "record.jsonl").read_text().splitlines()]
    assert ["MENDED" in line["failed"] for line in lines if line["test"].endswith("test_b")] == [True]
    assert "1 passed, 1 skipped, 2 deselected" in run(MENDED="1")
    assert "1 skipped, 3 deselected" in run()
    (tmp_path / "docs/page.md").write_text("two\n")
    assert "1 passed, 1 skipped, 2 deselected" in run()
    with (tmp_path / "record.jsonl").open("a") as record:
        record.write('{"test": "cut by a kil')
    (tmp_path / "test_pages.py").write_text("# reads docs\ndef test_page(): assert True\n")
    assert "1 passed, 1 skipped, 2 deselected" in run()
    (tmp_path / "code.py").write_text("a = 1\n")
    assert "1 failed, 2 passed, 1 skipped" in run()


def test_seed_is_printed_and_can_be_given(tmp_path: Path) -> None:
    (tmp_path / "test_seed.py").write_text("def test_seed(seed, rng): print('seed', seed, rng.random())\n")
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = -p tests.conftest\n")
    outputs = []
    for _ in range(2):
        command = [sys.executable, "-m", "pytest", "-s", "--seed=7", "-p", "no:cacheprovider", "test_seed.py"]
        done = subprocess.run(
            command,
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT}/python"},
            capture_output=True,
            text=True,
            timeout=HANGS_S,
            check=True,
        )
        assert "seed: 7" in done.stdout
        outputs.append(next(line for line in done.stdout.splitlines() if "seed 7 " in line))
    assert outputs[0] == outputs[1]
