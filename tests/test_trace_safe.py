"""Who can read and write the logs of a run, and that nothing is written through a link."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from tailrace.trace import launch
from tailrace.trace.log import read_log
from tailrace.trace.log_folder import FILE_MODES, FOLDER_MODES, NotTraceable, make_log_folder, write_new

pytestmark = pytest.mark.fast

SECRET = b"nobody may change this\n"
STRANGER = 12345
# Fills several chunks of log. Before them it replaces the name of its log by what the test wants.
REPLACES = """
import os, sys
log = [name for name in os.listdir({folder!r}) if name.endswith('.trace')][0]
path = os.path.join({folder!r}, log)
os.rename(path, path + '.moved')
{replace}
for _ in range(5000): os.stat('/')
"""


def mode_of(path: Path) -> int:
    return path.stat().st_mode & 0o777


def run(command: Sequence[str], folder: Path, *words: str, umask: int = 0o022) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*command, "run", *words], cwd=folder, capture_output=True, text=True, check=False, timeout=60, umask=umask
    )


@pytest.mark.parametrize("umask", [0o022, 0o077, 0])
@pytest.mark.parametrize("share", ["", "group", "all"])
def test_who_may_read_is_what_was_asked_for(tailrace_command: list[str], tmp_path: Path, share: str, umask: int) -> None:
    options = ["--share", share] if share else []
    done = run(
        tailrace_command, tmp_path, "--log", "log", *options, "--", "sh", "-c", "true; env -i /bin/cat /dev/null", umask=umask
    )
    assert done.returncode == 0, done.stderr
    log = tmp_path / "log"
    assert mode_of(log) == FOLDER_MODES[share or "owner"]
    logs = list(log.glob("*.trace"))
    assert len(logs) >= 2
    assert {mode_of(path) for path in (*logs, log / "run.json")} == {FILE_MODES[share or "owner"]}


def test_an_empty_folder_of_this_user_becomes_private(tmp_path: Path) -> None:
    folder = tmp_path / "log"
    folder.mkdir(mode=0o755)
    assert make_log_folder(folder) == folder
    assert mode_of(folder) == 0o700
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("mode", [0o777, 0o1777, 0o775, 0o722])
def test_a_folder_that_others_can_write_is_refused(tailrace_command: list[str], tmp_path: Path, mode: int) -> None:
    folder = tmp_path / "log"
    folder.mkdir()
    folder.chmod(mode)
    done = run(tailrace_command, tmp_path, "--log", "log", "--", "touch", "ran")
    assert done.returncode == 2
    assert "others can write there; chmod go-w log" in done.stderr
    assert not (tmp_path / "ran").exists()
    subprocess.run(["chmod", "go-w", folder], check=True)  # the remedy
    assert run(tailrace_command, tmp_path, "--log", "log", "--", "touch", "ran").returncode == 0


def test_a_folder_of_another_user_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "log"
    folder.mkdir()
    try:
        os.chown(folder, STRANGER, -1)
    except PermissionError:
        pytest.skip("only root gives folders away")
    with pytest.raises(NotTraceable, match=f"belongs to user {STRANGER}"):
        make_log_folder(folder)


@pytest.mark.parametrize("target", ["there", "not there"])
def test_a_link_is_no_folder_of_logs(tmp_path: Path, target: str) -> None:
    (tmp_path / "there").mkdir()
    link = tmp_path / "log"
    link.symlink_to(tmp_path / target)
    with pytest.raises(NotTraceable, match="a symbolic link; name the folder itself"):
        make_log_folder(link)
    assert not (tmp_path / "not there").exists()


def test_nothing_is_written_over_what_is_there(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(SECRET)
    folder = make_log_folder(tmp_path / "log")
    (folder / "run.json").symlink_to(secret)
    with pytest.raises(FileExistsError):
        write_new(folder, "run.json", "{}")
    assert secret.read_bytes() == SECRET


def test_the_status_is_kept_where_run_json_cannot_be_written(tailrace_command: list[str], tmp_path: Path) -> None:
    done = run(tailrace_command, tmp_path, "--log", "log", "--", "sh", "-c", "ln -s /nowhere log/run.json; exit 7")
    assert done.returncode == 7
    assert "run.json could not be written" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("kind", ["symlink", "link", "mkfifo"])
def test_a_log_is_not_continued_in_another_file(tmp_path: Path, kind: str) -> None:
    """A log is opened again for each chunk. What has its name then must be the file that the tracer made."""
    secret, folder = tmp_path / "secret", tmp_path / "log"
    secret.write_bytes(SECRET)
    folder.mkdir()
    replace = "os.mkfifo(path)" if kind == "mkfifo" else f"os.{kind}({str(secret)!r}, path)"
    program = REPLACES.format(folder=str(folder), replace=replace)
    environment = launch.traced_environment(folder, 64 << 20)
    done = subprocess.run([sys.executable, "-S", "-c", program], env=environment, check=False, timeout=60)
    assert done.returncode == 0
    assert secret.read_bytes() == SECRET
    (moved,) = folder.glob("*.moved")
    log = read_log(moved)
    assert log.header["dropped_events"] > 0  # the calls that had no room


@pytest.mark.parametrize("number", [0, 1])
def test_a_link_under_the_name_of_a_log_is_passed_over(tmp_path: Path, number: int) -> None:
    """A program that starts takes the next free number: what others put under the first ones stays as it is."""
    secret, folder = tmp_path / "secret", tmp_path / "log"
    secret.write_bytes(SECRET)
    folder.mkdir()
    host = os.uname().nodename
    start = (
        f"for n in 0 {number}; do ln -sf {secret} {folder}/{host}.$$.$n.trace; done; exec env {launch.PRELOAD_KEY}=$P cat {secret}"
    )
    environment = launch.traced_environment(folder, 1 << 20)
    environment["P"] = environment.pop(launch.PRELOAD_KEY)
    done = subprocess.run(["sh", "-c", start], env=environment, capture_output=True, check=False, timeout=60)
    assert done.stdout == SECRET
    logs = [path for path in folder.iterdir() if not path.is_symlink()]
    assert len(logs) == 1
    assert f".{number + 1}.trace" in logs[0].name
    assert secret.read_bytes() == SECRET


def test_a_run_says_what_it_was(tailrace_command: list[str], tmp_path: Path) -> None:
    assert run(tailrace_command, tmp_path, "--log", "log", "--", "true").returncode == 0
    kept = json.loads((tmp_path / "log" / "run.json").read_text())
    assert (kept["command"], kept["status"]) == (["true"], 0)
