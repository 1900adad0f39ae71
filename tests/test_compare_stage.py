"""`tailrace run --compare` with [stage]: the files that the drain delivers, or puts into bundles, are those of the plain run."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tailrace.compare.comparison import DURABLE, PROGRAM

MODEL = """
import os
os.makedirs("out/deep", exist_ok=True)
for number in range(30):
    open(f"out/deep/f {number}", "w").write(str(number) * 100)
open("out/old", "w").write("new")
open("out/kept", "a").write(" and more")
os.chmod("out/deep/f 1", 0o640)
os.symlink("f 1", "out/deep/link")
os.link("out/deep/f 2", "out/deep/second")
os.remove("out/deep/f 3")
open("beside", "w").write("not staged")
open("process", "w").write(str(os.getpid()))
"""


class Here:
    """A working folder with a program and [stage], and a scratch beside it."""

    def __init__(self, top: Path, command: list[str]) -> None:
        self.work, self.scratch, self.command = top / "work", top / "scratch", command
        (self.work / "out").mkdir(parents=True)
        self.scratch.mkdir()
        for name in ("old", "kept"):
            (self.work / "out" / name).write_text(f"{name} as it was")
        self.configure()
        self.program(MODEL)

    def configure(self, text: str = "", files: str = "out/**", folder: str = ".") -> None:
        (self.work / folder / "tailrace.toml").write_text(
            f'[stage]\nfiles = ["{files}"]\nscratch = "{self.scratch}"\nmin_free = "1 B"\n{text}'
        )

    def program(self, text: str) -> None:
        (self.work / "model.py").write_text(text)

    def compare(self, *options: str, status: int = 0) -> str:
        line = [*self.command, "run", "--compare", "--rounds", "1", *options, "--", sys.executable, "model.py"]
        done = subprocess.run(line, cwd=self.work, capture_output=True, text=True, check=False, timeout=120)
        assert done.returncode == status, done.stdout + done.stderr
        assert not list(self.scratch.iterdir()), "nothing stays on scratch"
        return done.stdout if status < 2 else " ".join(done.stderr.split())


@pytest.fixture
def here(tmp_path: Path, tailrace_command: list[str]) -> Here:
    return Here(tmp_path, tailrace_command)


@pytest.mark.parametrize("sink", ["mirror", "bundle"])
def test_what_was_staged_is_what_the_plain_run_leaves(here: Here, sink: str) -> None:
    here.configure(f'sink = "{sink}"\n')
    found: dict[str, Any] = json.loads(here.compare("--json"))
    files = found["files"]
    assert files["identical"], files
    assert files["not_comparable"] == ["process"]
    # out, deep, 29 files, a link, a second name, old, kept, beside, model.py, tailrace.toml
    assert files["same"] == 2 + 29 + 2 + 2 + 3
    assert found["written_outside"] == []
    (durable,), (program,) = (found["measures"][name]["runs"] for name in (DURABLE, PROGRAM))
    assert durable[0] > program[0]
    assert durable[1] > program[1]
    made = found["directories"]
    assert made["plain"]["entries"].keys() == {".", "out", "out/deep"}
    # With bundles, out has the file that was appended to, which stays at the target.
    assert made["placed"]["entries"].keys() == ({".", "out", "out/deep"} if sink == "mirror" else {".", "out"})
    assert (here.work / "out/old").read_text() == "old as it was"


def test_a_difference_is_found_in_bundles(here: Here) -> None:
    scratch = f"{here.scratch}"
    here.program(f'import os\nopen("out/a", "w").write(str(len(os.listdir("{scratch}"))))\nopen("out/b", "w").write("1")\n')
    here.configure('sink = "bundle"\nbundles = "packed"\n')
    said = here.compare(status=1)
    assert "Different after placed runs (1): out/a" in said
    assert "with the same bytes: 6 files and folders" in said  # out, old, kept, b, model.py, tailrace.toml
    assert "Exist only after placed runs (1): packed" in said


# NetCDF files with the same values in other bytes: the placed run, which finds the variable, uses other chunks.
OTHER_CHUNKS = """
import os, netCDF4, numpy
placed = "TAILRACE_PLACE" in os.environ
for name in ("a", "b"):
    with netCDF4.Dataset(f"out/{name}.nc", "w") as file:
        file.createDimension("x", 100)
        file.createVariable("T", "f8", ("x",), chunksizes=(10 if placed else 20,))[:] = numpy.arange(100) + (placed and name == "b")
os.symlink("/etc/hosts", "out/outside")
"""


@pytest.mark.parametrize("compression", ["none", "zstd"])
def test_netcdf_files_in_bundles_are_compared_by_content(here: Here, compression: str) -> None:
    here.program(OTHER_CHUNKS)
    here.configure(f'sink = "bundle"\ncompression = "{compression}"\n')
    files = json.loads(here.compare("--json", status=1))["files"]
    assert (files["same_content"], files["different"]) == (["out/a.nc"], ["out/b.nc"])
    assert not files["only_plain"]
    assert not files["only_placed"], "a link out of the folder is compared like others"


def test_bundles_of_earlier_runs_are_outputs_like_others(here: Here) -> None:
    here.configure('sink = "bundle"\n')
    plain_run = [*here.command, "run", "--config", "tailrace.toml", "--log", "../log", "--", sys.executable, "model.py"]
    subprocess.run(plain_run, cwd=here.work, check=True, capture_output=True, timeout=60)
    bundle = next(here.work.glob("*.tar")).name
    here.program(MODEL.replace("deep", "other"))  # its own names are in the bundle: it would find them there
    found = json.loads(here.compare("--json"))
    assert found["files"]["identical"], found["files"]
    assert bundle in {path.name for path in here.work.iterdir()}


def test_rules_in_a_folder_below_are_for_that_folder(here: Here) -> None:
    (here.work / "tailrace.toml").unlink()
    here.configure('sink = "bundle"\n', files="deep/**", folder="out")
    found = json.loads(here.compare("--json", "--config", "out/tailrace.toml"))
    assert found["files"]["identical"], found["files"]
    assert found["directories"]["placed"]["entries"].keys() == {".", "out"}


def test_trees_and_scratch_go_together(here: Here) -> None:
    tree = '[[place.tree]]\nfiles = "out/deep/f {number:number}"\nto = "{number%4}"\n'
    here.configure(tree)
    found = json.loads(here.compare("--json"))
    assert found["files"]["identical"], found["files"]
    assert "out/deep/3" in found["directories"]["placed"]["entries"]


def test_torn_files_end_the_comparison(here: Here) -> None:
    dies = "    file = open('out/half', 'wb', 0)\n    file.write(b'h')\n    os.kill(os.getpid(), 9)\n"
    here.program(f"import os\nif os.fork() == 0:\n{dies}os.wait()\n")
    said = here.compare(status=2)
    assert "the placed run is not compared, because its files are not all at their target: torn" in said
    assert said.endswith("out/half.torn")


def test_files_that_are_not_delivered_end_the_comparison(tmp_path: Path, tailrace_command: list[str], small_device: Path) -> None:
    """The target has space for the folder of the user and a copy, and not for a new file beside the old one that it replaces."""
    subprocess.run(["mount", "-o", "remount,size=48m", small_device], check=True)
    here = Here(small_device, tailrace_command)
    here.scratch.rmdir()
    here.scratch = tmp_path / "scratch"
    here.scratch.mkdir()
    here.configure()
    (here.work / "out/large").write_bytes(bytes(16 << 20))
    here.program("open('out/large', 'wb').write(bytes(16 << 20))\n")
    said = here.compare(status=2)
    assert "the placed run is not compared, because its files are not all at their target: files are not delivered" in said


def test_a_comparison_that_is_ended_leaves_nothing(here: Here, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "began")
    here.program(
        "import os, time\nopen('out/a', 'w').write('1')\n"
        f"if 'TAILRACE_PLACE' in os.environ:\n    open('{tmp_path}/began', 'w').write('1')\n    time.sleep(600)\n"
    )
    line = [*here.command, "run", "--compare", "--", sys.executable, "model.py"]
    with subprocess.Popen(line, cwd=here.work, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        assert (tmp_path / "began").read_text() == "1"
        assert list(here.scratch.iterdir())
        process.terminate()
        assert process.wait(60) == 128 + signal.SIGTERM
    assert not list(here.scratch.iterdir())
    assert not (here.work / "tailrace-compare-1/copy").exists()


def test_what_cannot_be_compared_is_refused(here: Here, tmp_path: Path) -> None:
    assert "[stage] needs the record of the run" in here.compare("--no-trace", status=2)
    here.configure(f'sink = "bundle"\nbundles = "{tmp_path}/bundles"\n')
    assert "outside of the working folder, which all runs would share" in here.compare(status=2)
    here.scratch.rmdir()
    here.configure()
    here.scratch = tmp_path
    line = [*here.command, "run", "--compare", "--", "true"]
    done = subprocess.run(line, cwd=here.work, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, "no such folder: make it" in done.stderr) == (2, True), done.stderr
    assert not list(here.work.glob("tailrace-compare-*")), "nothing has run"
