"""Files of unmodified programs that are written on scratch and delivered at the end of the run: the same results as without."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

CASES = ("opening", "attributes", "names", "listing", "threads", "walks")
STAGE = 'files = ["out/**"]\n'


class Staged:
    """A folder with [stage], and a scratch beside it."""

    def __init__(self, top: Path, command: list[str]) -> None:
        self.base, self.scratch, self.command = top / "run", top / "scratch", command
        self.log = top / "log"
        self.base.mkdir(exist_ok=True)
        self.scratch.mkdir(exist_ok=True)

    def configure(self, text: str = STAGE, min_free: str = "1 B") -> None:
        (self.base / "tailrace.toml").write_text(f'[stage]\nscratch = "{self.scratch}"\nmin_free = "{min_free}"\n{text}')

    def words(self, words: list[str]) -> list[str]:
        return [*self.command, "run", "--config", str(self.base / "tailrace.toml"), "--log", str(self.log), "--", *words]

    def run(self, words: list[str], cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(self.words(words), cwd=cwd or self.base, capture_output=True, text=True, check=False, timeout=120)

    def drain(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([*self.command, "drain", *words], capture_output=True, text=True, check=False, timeout=120)

    def folders(self) -> list[Path]:
        return list(self.scratch.iterdir())


@pytest.fixture
def staged(tmp_path: Path, tailrace_command: list[str]) -> Staged:
    found = Staged(tmp_path, tailrace_command)
    found.configure()
    return found


def lying(top: Path, times: bool = False) -> dict[str, tuple[object, ...]]:
    """What is in a folder: kind, mode, owner, links, bytes; and times."""
    found: dict[str, tuple[object, ...]] = {}
    for path in sorted(top.rglob("*")):
        is_ = path.lstat()
        text = os.readlink(path) if path.is_symlink() else hashlib.sha1(path.read_bytes()).hexdigest() if path.is_file() else ""
        links = 0 if path.is_dir() else is_.st_nlink
        when = is_.st_mtime_ns // 10**9 if times else 0
        found[str(path.relative_to(top))] = (stat.filemode(is_.st_mode), is_.st_uid, is_.st_gid, links, text, when)
    return found


def same_with_and_without(staged: Staged, tmp_path: Path, words: list[str], prepare: str = "", times: bool = False) -> Path:
    """Runs the words plainly and staged in folders that `prepare` (Python) has filled. Returns the staged folder."""
    plain, inner = tmp_path / "plain", staged.base / "in"
    for folder in (plain, inner):
        folder.mkdir()
        subprocess.run([sys.executable, "-c", prepare], cwd=folder, check=True, timeout=60)
    staged.configure('files = ["in/out/**", "in/*.staged"]\n')
    without = subprocess.run(words, cwd=plain, capture_output=True, text=True, check=False, timeout=60)
    done = staged.run(words, cwd=inner)
    assert (done.stdout, done.returncode) == (without.stdout, without.returncode), done.stderr + without.stderr
    assert lying(inner, times) == lying(plain, times)
    assert not staged.folders(), done.stderr
    assert "delivered to" in done.stderr
    return inner


@pytest.mark.parametrize("case", CASES)
def test_programs_see_what_they_see_without_scratch(staged: Staged, tmp_path: Path, build_dir: Path, case: str) -> None:
    program = str(build_dir / "tests" / ("walk_case" if case == "walks" else "place_case"))
    plain, inner = tmp_path / "plain", staged.base / "placed"
    plain.mkdir()
    inner.mkdir()
    staged.configure('files = ["placed/data/**"]\n')
    without = subprocess.run([program, case], cwd=plain, capture_output=True, text=True, check=True, timeout=60)
    done = staged.run([program, case], cwd=inner)
    assert done.stdout == without.stdout, done.stderr
    assert lying(inner) == lying(plain)
    assert not staged.folders()


# What programs of these tests begin with: each call prints its answer, or its error.
SHOW = """
import errno, glob, os, sys
def show(what, call):
    try:
        answer = call()
    except OSError as error:
        answer = errno.errorcode[error.errno]
    print(what, answer)
def put(path, text, mode="w"):
    with open(path, mode) as file:
        file.write(text)
def get(path):
    with open(path) as file:
        return file.read()
"""
CALLS = (
    SHOW
    + """
def here(top):
    for folder, names, files in sorted(os.walk(top)):
        print(folder, sorted(names), sorted(files))
"""
)
OLD = """
import os
os.mkdir("out")
os.makedirs("out/full/inner")
for name in ("kept", "appended", "rewritten", "removed", "moved", "hidden", "full/inner/file"):
    open(f"out/{name}", "w").write(f"old {name}")
os.chmod("out/rewritten", 0o640)
os.link("out/kept", "out/second name")
os.symlink("later", "out/link")
open("plain", "w").write("old plain")
"""
OPERATIONS = (
    CALLS
    + """
put("out/new", "1"); put("out/new", "2", "a"); print(get("out/new"))
put("out/appended", "+", "a"); print(get("out/appended"))
put("out/rewritten", "new"); print(get("out/rewritten"), oct(os.stat("out/rewritten").st_mode))
put("out/second name", "both"); print(get("out/kept"))
put("out/removed", "x"); os.unlink("out/removed"); show("removed", lambda: get("out/removed"))
put("out/moved", "y"); os.rename("out/moved", "out/moved on"); show("moved", lambda: get("out/moved")); print(get("out/moved on"))
put("out/hidden", "seen"); os.rename("out/hidden", "out/kept"); print(get("out/kept"))
put("out/.tmp", "renamed"); os.replace("out/.tmp", "out/new"); print(get("out/new"))
put("plain", "p"); os.rename("plain", "out/from outside"); print(get("out/from outside"))
put("out/to outside", "q"); os.rename("out/to outside", "beside"); print(get("beside"))
put("out/onto", "scratch"); put("plain2", "target"); os.rename("plain2", "out/onto"); print(get("out/onto"))
put("out/later", "through a link"); print(get("out/link")); put("out/link", "written through it"); print(get("out/later"))
os.makedirs("out/a/b"); put("out/a/b/c", "deep"); show("rmdir", lambda: os.rmdir("out/a/b"))
os.rename("out/a", "out/z"); here("out/z"); show("gone", lambda: os.stat("out/a"))
os.mkdir("out/empty"); os.rename("out/z", "out/empty"); show("onto full", lambda: os.rename("out/full", "out/empty"))
show("file onto folder", lambda: os.rename("out/later", "out/empty"))
os.rename("out/full", "full, moved"); put("out/empty/b/d", "d"); os.remove("out/empty/b/c"); here("out")
os.link("out/onto", "out/linked"); show("link again", lambda: os.link("out/onto", "out/linked")); put("out/linked", "+", "a")
print(get("out/onto"), os.stat("out/onto").st_nlink)
show("mkdir", lambda: os.mkdir("out/later")); show("symlink", lambda: os.symlink("x", "out/later"))
show("exclusive", lambda: os.open("out/later", os.O_CREAT | os.O_EXCL | os.O_WRONLY))
os.chmod("out/later", 0o600); os.truncate("out/later", 3); os.utime("out/later", (5, 6))
print(oct(os.stat("out/later").st_mode), os.stat("out/later").st_mtime, get("out/later"), os.access("out/later", os.X_OK))
os.setxattr("out/later", "user.x", b"1"); print(os.getxattr("out/later", "user.x")); os.removexattr("out/later", "user.x")
print(sorted(glob.glob("out/*")), sorted(entry.name for entry in os.scandir("out")))
print(os.path.relpath(os.path.realpath("out/link")), os.path.relpath(os.readlink("/proc/self/fd/%d" % os.open("out/new", 0))))
os.chmod("out/empty", 0o750); put("x.staged", "at the top"); here(".")
os.mkdir("out/times"); put("out/times/f", "t"); os.utime("out/times", (7, 8))
"""
)


def test_every_operation_gives_what_it_gives_without_scratch(staged: Staged, tmp_path: Path) -> None:
    inner = same_with_and_without(staged, tmp_path, [sys.executable, "-c", OPERATIONS], OLD)
    assert (inner / "out/new").read_text() == "renamed"
    assert (inner / "out/times").stat().st_mtime == 8


def test_files_are_on_scratch_until_the_run_ends(staged: Staged) -> None:
    script = f"mkdir out; echo text > out/file; echo other > beside; cat out/file; find {staged.scratch} -name file -o -name beside"
    done = staged.run(["sh", "-c", f"{script}"])
    text, on_scratch = done.stdout.splitlines()
    assert (text, done.returncode) == ("text", 0)
    assert Path(on_scratch).relative_to(staged.scratch).parts[1:] == ("out", "file")
    assert (staged.base / "out/file").read_text() == "text\n"
    assert "if this command is killed, `tailrace drain resume" in done.stderr
    assert "1 file, 5 B" in done.stderr


def test_a_later_process_reads_what_an_earlier_one_wrote(staged: Staged) -> None:
    done = staged.run(["sh", "-c", "mkdir -p out/d; (echo one > out/d/a); (cd out/d; cat a; ls); mv out/d/a out/b; cat out/b"])
    assert done.stdout == "one\na\none\n"
    assert lying(staged.base / "out").keys() == {"b", "d"}


def test_bundles_have_the_files(staged: Staged, tmp_path: Path) -> None:
    staged.configure(STAGE + 'sink = "bundle"\nbundles = "results"\n')
    done = staged.run(["sh", "-c", "mkdir -p out/d; echo 1 > out/a; echo 2 > out/d/b"])
    assert done.returncode == 0, done.stderr
    (bundle,) = (staged.base / "results").glob("*.tar")
    subprocess.run(["tar", "-xf", bundle, "-C", tmp_path], check=True)
    assert (tmp_path / "out/d/b").read_text() == "2\n"
    assert not staged.folders()


def test_a_killed_program_leaves_torn_files(staged: Staged) -> None:
    script = (
        "import os; os.mkdir('out'); open('out/whole', 'w').write('x')\n"
        "half = open('out/half', 'wb', 0); half.write(b'h'); os.kill(os.getpid(), 9)"
    )
    done = staged.run([sys.executable, "-c", script])
    assert done.returncode == 128 + signal.SIGKILL
    assert lying(staged.base / "out").keys() == {"whole", "half.torn"}
    assert "out/half.torn" in done.stderr
    assert not staged.folders()


def test_after_a_kill_of_the_command_the_drain_finds_all(staged: Staged) -> None:
    script = "mkdir out; echo whole > out/whole; exec 3> out/half; echo half >&3; echo ready; read line; kill -9 $$"
    with subprocess.Popen(
        staged.words(["sh", "-c", script]),
        cwd=staged.base,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        (folder,) = staged.folders()
        assert "writes to it, and delivers its files when it ends" in staged.drain("status", str(folder)).stdout
        process.kill()
        process.wait()
        process.stdin.write(b"\n")
        process.stdin.close()
        assert process.stdout.read() == b""  # the program has ended
    status = staged.drain("status", str(folder))
    assert status.returncode == 1
    assert "was killed before its files were delivered" in status.stdout
    found = staged.drain("scavenge", str(staged.scratch))
    assert f"drain resume {folder}" in found.stdout.replace("\n", "")
    resumed = staged.drain("resume", str(folder))
    assert resumed.returncode == 1  # a file is torn
    assert lying(staged.base / "out").keys() == {"whole", "half.torn"}
    assert staged.drain("status", str(folder)).returncode == 0


def test_with_little_space_files_go_to_their_target(staged: Staged, small_device: Path) -> None:
    staged.scratch = small_device
    staged.configure(min_free="500 KiB")
    script = (
        "import os, time; os.mkdir('out')\n"
        "for n in range(20): open(f'out/{n:02}', 'wb').write(bytes(65536)); time.sleep(0.005)\n"  # free space counts for 1 ms
        f"print(len(os.listdir('out')), sum(len(f) for d, _, f in os.walk({str(small_device)!r}) if d.endswith('/out')))"
    )
    done = staged.run([sys.executable, "-c", script])
    seen, on_scratch = map(int, done.stdout.split())
    assert done.returncode == 0
    assert seen == 20
    assert 0 < on_scratch < 10
    assert f"{20 - on_scratch} files of [stage] were made at their target" in done.stderr
    assert "min_free" in done.stderr
    assert len(list((staged.base / "out").iterdir())) == 20


def test_a_full_scratch_is_told_with_the_mark(staged: Staged, small_device: Path) -> None:
    staged.scratch = small_device
    staged.configure()
    script = "import os; os.mkdir('out'); f = os.open('out/a', os.O_CREAT | os.O_WRONLY)\nwhile True: os.write(f, bytes(65536))"
    done = staged.run([sys.executable, "-c", script])
    assert "No space left on device" in done.stderr
    assert "is full, so writes to files on it may have failed" in done.stderr
    assert "set min_free in [stage] to more than 1 B" in done.stderr
    assert (staged.base / "out/a").stat().st_size > 500_000


ODD_NAMES = """
import os
os.mkdir("out")
names = ["a b", "new\\nline", "ü€", "x" * 255, b"\\xff\\x80", "-rf", "*?[a]", ".hidden", "'\\""]
for name in names:
    path = os.path.join(b"out", os.fsencode(name))
    with open(path, "w") as file:
        file.write(repr(name))
    os.rename(path, path[:-1] + b"2")
print(sorted(os.listdir(b"out")))
for name in os.listdir(b"out"):
    print(name, open(os.path.join(b"out", name)).read())
"""


def test_names_may_be_any(staged: Staged, tmp_path: Path) -> None:
    same_with_and_without(staged, tmp_path, [sys.executable, "-c", ODD_NAMES])


def test_attributes_are_delivered(staged: Staged) -> None:
    script = "import os; os.mkdir('out'); open('out/a', 'w').write('x'); os.setxattr('out/a', 'user.origin', b'step 1')"
    assert staged.run([sys.executable, "-c", script]).returncode == 0
    assert os.getxattr(staged.base / "out/a", "user.origin") == b"step 1"


def test_a_full_target_keeps_all_on_scratch(tmp_path: Path, tailrace_command: list[str], small_device: Path) -> None:
    staged = Staged(tmp_path, tailrace_command)
    staged.base = small_device
    staged.configure()
    script = "import os; os.mkdir('out'); [open(f'out/{n}', 'wb').write(os.urandom(300_000)) for n in range(6)]"
    done = staged.run([sys.executable, "-c", script])
    assert done.returncode == 1
    assert "files are not delivered" in done.stderr
    (folder,) = staged.folders()
    kept = len(list((folder / "out").iterdir()))
    assert kept + len(list((staged.base / "out").iterdir())) >= 6
    subprocess.run(["mount", "-o", "remount,size=8m", small_device], check=True)
    resumed = staged.drain("resume", str(folder))
    assert resumed.returncode == 0, resumed.stderr
    assert all((staged.base / f"out/{n}").stat().st_size == 300_000 for n in range(6))


# Names with and without a pattern: files are renamed between them.
@pytest.mark.parametrize("patterns", ["out/**", "out/shared/*"])
def test_many_processes_lose_nothing(staged: Staged, patterns: str) -> None:
    staged.configure(f'files = ["{patterns}"]\n')
    program = f"{sys.executable} {Path(__file__).parent / 'place' / 'many_files.py'}"
    done = staged.run(["sh", "-c", f"for n in 0 1 2; do {program} $n 200 & done; wait"])
    assert done.returncode == 0
    expected: dict[str, str] = {}
    for number in range(3):
        expected |= json.loads((staged.base / f"expected.{number}.json").read_text())
    files = [path for path in (staged.base / "out").rglob("*") if path.is_file()]
    assert {str(path.relative_to(staged.base)): path.read_text() for path in files} == expected
    assert not staged.folders(), done.stderr


def test_the_drains_own_folder_is_not_the_programs(staged: Staged) -> None:
    staged.configure('files = ["**"]\n')
    script = "mkdir .tailrace-drain out; echo mine > .tailrace-drain/journal.jsonl; echo x > out/a; cat .tailrace-drain/j*"
    done = staged.run(["sh", "-c", script])
    assert (done.stdout, done.returncode) == ("mine\n", 0), done.stderr
    assert (staged.base / ".tailrace-drain/journal.jsonl").read_text() == "mine\n"
    assert (staged.base / "out/a").exists()


def test_the_exit_status_is_the_programs(staged: Staged) -> None:
    done = staged.run(["sh", "-c", "mkdir out; echo 1 > out/a; exit 7"])
    assert done.returncode == 7
    assert (staged.base / "out/a").exists()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('files = ["out/**"]\nscratch = "/none"\n', "no such folder"),
        ('files = ["out/**"]\nscratch = "BASE"\n', "or contains it"),
        ('files = ["out/**"]\nscratch = "OPEN"\n', "sticky bit"),
        ('files = ["out/**"]\n', "are not set"),
        ('files = ["../out"]\nscratch = "/dev/shm"\n', "names no file below"),
    ],
)
def test_what_cannot_be_staged_is_not_started(staged: Staged, tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    text = text.replace("BASE", str(staged.base / "s")).replace("OPEN", str(tmp_path / "open"))
    (staged.base / "s").mkdir()
    (staged.base / "tailrace.toml").write_text(f"[stage]\n{text}")
    environment = {name: value for name, value in os.environ.items() if name not in ("TMPDIR", "SLURM_TMPDIR", "LOCALWORKDIR")}
    done = subprocess.run(
        staged.words(["touch", "started"]),
        cwd=staged.base,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 2
    assert said in done.stderr.replace("\n", " ")
    assert not (staged.base / "started").exists()


def test_staging_needs_the_record(staged: Staged) -> None:
    line = [*staged.command, "run", "--config", str(staged.base / "tailrace.toml"), "--no-trace", "--", "true"]
    done = subprocess.run(line, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 2
    assert "remove --no-trace" in done.stderr.replace("\n", " ")


def test_ranks_stage_beside_each_other(staged: Staged) -> None:
    script = "mkdir -p out; for n in 1 2 3; do echo $OMPI_COMM_WORLD_RANK > out/f.$OMPI_COMM_WORLD_RANK.$n; done"
    done = staged.run(["mpirun", "-n", "4", "sh", "-c", script])
    assert done.returncode == 0, done.stderr
    assert [(staged.base / f"out/f.{rank}.3").read_text() for rank in range(4)] == [f"{rank}\n" for rank in range(4)]
    assert "12 files" in done.stderr
