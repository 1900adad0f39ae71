"""What one member leaves to the next: inputs that nothing has touched, and nothing else."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tailrace.ensemble import Ensemble
from tailrace.ensemble.directory import LOG
from tailrace.ensemble.keeper import closed_of
from tailrace.ensemble.scratch import InputFile, Scratch
from tailrace.toml_table import literal

from tests.ensembles import table_of

pytestmark = pytest.mark.fast
NAMES = ("in.txt", "below/deep/in.txt")


@pytest.fixture
def scratch(tmp_path: Path) -> Scratch:
    files = []
    for name in (*NAMES, "shared.txt"):
        source = tmp_path / "source" / name
        source.parent.mkdir(parents=True, exist_ok=True)
        source.write_text(f"input {name}\n")
        files.append(InputFile(str(source), name, name == "shared.txt"))
    return Scratch(tmp_path / "scratch", "run", tuple(files))


def content(path: str) -> dict[str, str]:
    return {str(file.relative_to(path)): file.read_text() for file in Path(path).rglob("*") if file.is_file()}


def numbers(path: str) -> dict[str, int]:
    return {name: os.stat(os.path.join(path, name)).st_ino for name in NAMES}


def after_member(scratch: Scratch, member: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch) -> tuple[str, dict[str, int]]:
    """A directory in which a member has run, and the numbers that its inputs had before."""
    directory = scratch.take(0)
    before = numbers(directory.path)
    member(Path(directory.path))
    with monkeypatch.context() as patched:
        patched.chdir(directory.path)
        closed = closed_of([LOG, *directory.copies])
    if not closed:
        pytest.skip("this file system has no leases")
    scratch.give_back(directory, closed)
    return directory.path, before


def write_outputs(here: Path) -> None:
    (here / "out.txt").write_text("1")
    (here / LOG).write_text("said something")
    (here / "more" / "folders").mkdir(parents=True)
    (here / "more" / "folders" / "out").write_text("2")
    (here / "below" / "out").write_text("3")
    (here / "link").symlink_to("in.txt")


def test_untouched_inputs_stay_and_outputs_go(scratch: Scratch, monkeypatch: pytest.MonkeyPatch) -> None:
    path, before = after_member(scratch, write_outputs, monkeypatch)
    again = scratch.take(0)
    assert again.path == path
    assert numbers(path) == before
    assert content(path) == {**{name: f"input {name}\n" for name in (*NAMES, "shared.txt")}, LOG: ""}
    assert not (Path(path) / "more").exists()
    assert not (Path(path) / "link").is_symlink()


@pytest.mark.parametrize("read_only", ["", 'read_only = ["out.txt"]'])
def test_an_output_of_an_earlier_run_is_no_result(tmp_path: Path, read_only: str) -> None:
    """The model was tried in its folder, and its output is still there. Some members do not write it."""
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "out.txt").write_text("result: 1.5\n")
    (tmp_path / "parameters.csv").write_text("value\n" + "".join(f"{number}.5\n" for number in range(12)))
    script = "test $(({member} % 3)) = 2 || { rm out.txt; echo 'result: {value}' > out.txt; }"
    path = tmp_path / "ensemble.toml"
    path.write_text(f"""
command = {literal(["/bin/sh", "-c", script])}
[inputs]
directory = "model"
{read_only}
[parameters]
file = "parameters.csv"
[results]
result = {{ file = "out.txt", regex = 'result: (.+)' }}
[engine]
workers = 1
scratch = {literal(str(tmp_path / "scratch"))}
""")
    Ensemble(path, tmp_path / "out").run()
    for member, row in table_of(tmp_path / "out").items():
        if member % 3 == 2:
            assert (row["reason"], row["result"]) == ("missing", "")
            assert "out.txt: the command has not written this output" in row["message"]
        else:
            assert (row["reason"], row["result"]) == ("", f"{member}.5"), row


def overwrite_with_times_of_before(file: Path) -> None:
    found = file.stat()
    with file.open("r+b") as opened:
        opened.write(b"INPUT")
    os.utime(file, ns=(found.st_atime_ns, found.st_mtime_ns))


def replace_by_link(file: Path) -> None:
    file.unlink()
    file.symlink_to("/etc/hostname")


@pytest.mark.parametrize(
    "change",
    [
        overwrite_with_times_of_before,
        replace_by_link,
        lambda file: file.unlink(),
        lambda file: file.chmod(0o600),
        lambda file: os.link(file, f"{file}.other"),
        lambda file: file.rename(f"{file}.other"),
        lambda file: os.truncate(file, 3),
    ],
    ids=["overwritten", "link", "removed", "mode", "hard link", "renamed", "shorter"],
)
@pytest.mark.parametrize("name", NAMES)
def test_a_changed_input_is_copied_again(
    scratch: Scratch, name: str, change: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    path, before = after_member(scratch, lambda here: change(here / name), monkeypatch)
    again = scratch.take(0)
    assert content(again.path) == {**{name: f"input {name}\n" for name in (*NAMES, "shared.txt")}, LOG: ""}
    assert all(not (Path(again.path) / one).is_symlink() for one in NAMES)
    other = next(one for one in NAMES if one != name)
    assert numbers(path)[other] == before[other], "the other input has not changed"


def test_an_input_that_another_process_has_open_is_copied_again(scratch: Scratch, monkeypatch: pytest.MonkeyPatch) -> None:
    held = []
    path, _ = after_member(scratch, lambda here: held.append((here / "in.txt").open("r+b", buffering=0)), monkeypatch)
    again = scratch.take(0)
    held[0].write(b"WRONG")
    held[0].close()
    assert again.path == path
    assert content(path)["in.txt"] == "input in.txt\n"


@pytest.mark.parametrize("name", ["", "below", "below/deep"])
def test_a_changed_directory_is_not_used_again(scratch: Scratch, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path, _ = after_member(scratch, lambda here: (here / name).chmod(0o770), monkeypatch)
    assert scratch.take(0).path != path
    assert not os.path.exists(path)


def test_who_holds_the_log_open_has_the_directory_alone(scratch: Scratch, monkeypatch: pytest.MonkeyPatch) -> None:
    held = []
    path, _ = after_member(scratch, lambda here: held.append((here / LOG).open("a")), monkeypatch)
    held[0].close()
    assert scratch.take(0).path != path


def test_a_directory_of_a_failed_member_is_removed(scratch: Scratch) -> None:
    directory = scratch.take(0)
    scratch.give_back(directory, ())
    assert not os.path.exists(directory.path)


@pytest.mark.parametrize("reuse", ["true", "false"])
def test_members_that_write_into_their_inputs_see_the_originals(tmp_path: Path, reuse: str) -> None:
    """The command changes one input in place, at once, with size and time of before; it adds to another, and removes the third."""
    (tmp_path / "model").mkdir()
    for name in ("a", "b", "c", "d"):
        (tmp_path / "model" / name).write_text(f"{name}{name}\n")
    subprocess.run(["touch", "-d", "@1000000000", tmp_path / "model" / "a"], check=True)
    script = (
        "cat a b c d > out.txt; printf XX | dd of=a conv=notrunc status=none; touch -d @1000000000 a; "
        "test -e more && exit 9; mkdir more; echo more >> b; rm c; cat d > more/d"
    )
    (tmp_path / "ensemble.toml").write_text(f"""
command = {literal(["/bin/sh", "-c", script])}
[inputs]
directory = "model"
reuse = {reuse}
[parameters]
members = 12
[results]
seen = {{ file = "out.txt", regex = '(?s)(.+)' }}
[engine]
workers = 1
scratch = {literal(str(tmp_path / "scratch"))}
""")
    ensemble = Ensemble(tmp_path / "ensemble.toml")
    assert ensemble.run()["good"] == 12
    assert {row["seen"] for row in table_of(ensemble.folder.out).values()} == {"aa\nbb\ncc\ndd"}
