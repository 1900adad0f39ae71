"""Ways of starting a child, and whether each process of a run is in the logs or is named, held against strace."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from tailrace.launch.launchers import LAUNCHER_NAMES
from tailrace.trace import launch
from tailrace.trace.log import Log, read_run
from tailrace.trace.started import Unrecorded, unrecorded_processes

from bench import harness
from bench.harness import BenchError, oracle

SOURCES = harness.ROOT / "bench" / "coverage"
BYTES = 70_000  # that each child writes to child.out
LIMIT_S, BUDGET = 60, 16 << 20
WRITE = f"head -c {BYTES} /dev/zero > child.out"
TRACED_CALLS = (*oracle.MAKES, "execve", "execveat")
FLAGS_OF_THREAD, QUOTED = "CLONE_THREAD", oracle.QUOTED
OTHER_USER = 65534
# Where a child's process is not recorded, its bytes are not in the logs either.
RECORDED, NAMED = "recorded", "named"


@dataclass(frozen=True)
class Way:
    name: str
    words: Callable[[Path], list[str]]  # in an empty folder; the argument has the compiled programs
    expected: str = RECORDED  # the child that writes: recorded, or named


def _of_c(name: str, expected: str = RECORDED) -> Way:
    return Way(name, lambda programs: [str(programs / "starts"), name], expected)


def _of_shell(name: str, *words: str, expected: str = RECORDED) -> Way:
    return Way(name, lambda programs: [word.replace("PROGRAMS", str(programs)) for word in words], expected)


def _of_python(name: str, script: str) -> Way:
    return Way(name, lambda _: [sys.executable, "-c", script])


def _of_multiprocessing(method: str) -> Way:
    return Way(f"multiprocessing, {method}", lambda programs: [sys.executable, str(SOURCES / "workers.py"), method])


SHELL_WORDS = ["sh", "-c", WRITE]
WAYS = (
    *map(_of_c, ("fork", "vfork", "posix_spawn", "posix_spawnp", "system", "popen", "clone", "daemon", "setsid")),
    _of_c("dropped privileges", NAMED),
    _of_c("cleared, execv"),
    _of_c("cleared, system", NAMED),
    _of_c("cleared, popen", NAMED),
    _of_python(
        "execve, own environment", f"import os; os.fork() or os.execve('/bin/sh', {SHELL_WORDS}, {{'PATH': '/bin'}}); os.wait()"
    ),
    _of_python(
        "subprocess, no environment", f"import subprocess; subprocess.run({['/bin/sh', '-c', WRITE]}, env={{}}, check=True)"
    ),
    _of_python("os.spawn", f"import os; os.spawnve(os.P_WAIT, '/bin/sh', {SHELL_WORDS}, {{'PATH': '/bin'}})"),
    *map(_of_multiprocessing, ("spawn", "fork", "forkserver")),
    _of_shell("static program", "sh", "-c", "PROGRAMS/static clone; true", expected=NAMED),
    _of_shell("program of 32 bits", "sh", "-c", "PROGRAMS/foreign; true", expected=NAMED),
    _of_shell(
        "set-uid program", "sh", "-c", f"chmod 777 .; PROGRAMS/rights -c {BYTES} /dev/zero > child.out; true", expected=NAMED
    ),
    _of_shell("env -i", "env", "-i", "/bin/sh", "-c", WRITE),
    _of_shell("child of mpirun", "mpirun.openmpi", "-n", "1", "sh", "-c", WRITE),
    _of_shell("in the background", "sh", "-c", f"({WRITE}) & wait"),
    # Beyond the usual ones.
    *map(_of_c, ("_Fork", "clone, then exec", "daemon()", "forkpty", "wordexp", "fork by number", "fexecve", "execle")),
    _of_c("clone with shared memory, then exec"),
    _of_c("execve by number"),
    _of_c("cleared, wordexp", NAMED),
    _of_shell("perl", "perl", "-e", f"%ENV = (); system('/bin/sh', '-c', '{WRITE}'); exit 0"),
    _of_shell("awk", "awk", f'BEGIN {{ "{WRITE}; echo done" | getline x }}'),
    _of_shell("script", "sh", "-c", "printf '#!/bin/sh\\n%s\\n' '" + WRITE + "' > s; chmod +x s; env -u LD_PRELOAD ./s"),
    _of_shell("xargs", "sh", "-c", f"echo '{WRITE}' | env -i /usr/bin/xargs -I [] /bin/sh -c []"),
    _of_shell("setpriv", "setpriv", "--no-new-privs", "env", "-i", "/bin/sh", "-c", WRITE),
)


def compile_programs(folder: Path) -> Path:
    """The programs that start children, and those that the tracer cannot be in. Returns the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    static = ["-static", "-w"]
    foreign = ["-m32", "-static", "-nostdlib", "-fno-pie", "-no-pie"]
    for name, source, options in (("starts", "starts.c", []), ("static", "starts.c", static), ("foreign", "foreign.c", foreign)):
        command = ["gcc", "-O1", *options, str(SOURCES / source), "-o", str(folder / name)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise BenchError(f"{' '.join(command)}: {done.stderr[-2000:]}\ninstall the compilers with `make setup`")
    rights = folder / "rights"  # of another user, where this one may make it
    shutil.copy(str(shutil.which("head")), rights)
    if os.getuid() == 0 and not os.statvfs(folder).f_flag & os.ST_NOSUID:
        os.chown(rights, OTHER_USER, OTHER_USER)
        rights.chmod(0o4755)
    return folder


@dataclass
class Image:
    """A process while it is one program."""

    process: int
    program: str  # as it was started; "": the program of its parent
    parent: Image | None  # the same process before, or its parent
    is_silent: bool = False  # a child of vfork before its exec, which records nothing
    is_recorded: bool = False
    is_named: bool = False

    @property
    def is_accounted_for(self) -> bool:
        return self.is_recorded or self.is_silent or self.is_below_named

    @property
    def is_below_named(self) -> bool:
        """A named process stands for whatever it started."""
        return self.is_named or (self.parent is not None and self.parent.is_below_named)

    @property
    def is_of_launcher(self) -> bool:
        of_parent = self.parent is not None and self.parent.is_of_launcher and not self.program
        return of_parent or Path(self.program).name in LAUNCHER_NAMES


@dataclass(frozen=True)
class Started:
    status: int
    images: list[Image]
    found: str  # how the child that writes is known: RECORDED, NAMED, or ""
    written: int  # bytes of child.out

    @property
    def missing(self) -> list[Image]:
        return [image for image in self.images if not image.is_accounted_for]


def run(way: Way, programs: Path, folder: Path) -> Started:
    """Starts one child under strace, in a new folder `folder`/work. Raises subprocess.TimeoutExpired."""
    shutil.rmtree(folder, ignore_errors=True)
    work, logs, record = folder / "work", folder / "logs", folder / "strace"
    work.mkdir(parents=True)
    logs.mkdir(mode=0o700)
    given = [f"{key}={value}" for key, value in launch.traced_environment(logs, BUDGET, {}).items()]
    wanted = f"trace={','.join(TRACED_CALLS)}"
    command = ["strace", "-f", "-y", "-s", "0", "-e", "signal=none", "-e", wanted, "-o", str(record)]
    command += [word for variable in given for word in ("-E", variable)] + way.words(programs)
    status = harness.run_into(command, work, folder / "out", LIMIT_S, harness.mpi_environment({}))
    recorded, damaged = read_run(logs)
    if damaged:
        raise BenchError(f"{way.name}: {damaged[0]}")
    images = images_of(record)
    named = unrecorded_processes(recorded)
    account(images, recorded, named)
    made = work / "child.out"
    found = RECORDED if bytes_in(recorded, "child.out") == BYTES else NAMED if named else ""
    return Started(status, images, found, made.stat().st_size if made.exists() else 0)


def images_of(record: Path) -> list[Image]:
    """Each program that each process was, in the order of their beginnings."""
    images: list[Image] = []
    now: dict[int, Image] = {}

    def add(image: Image) -> None:
        images.append(image)
        now[image.process] = image

    lines = list(oracle.whole_lines(record.read_text(errors="replace").splitlines()))
    made_by = {int(result): (pid, text, name) for pid, name, text, result, _ in lines if name in oracle.MAKES and result.isdigit()}
    threads = {child for child, (_, text, _) in made_by.items() if FLAGS_OF_THREAD in text}

    def image_of(process: int) -> Image:
        if process in now:
            return now[process]
        pid, text, name = made_by.get(process, (0, "", ""))
        parent = image_of(pid) if pid else None
        if process in threads and parent is not None:
            now[process] = parent
            return parent
        add(Image(process, "", parent, name == "vfork" or "CLONE_VM" in text))
        return now[process]

    for pid, name, text, result, _ in lines:
        if name in oracle.MAKES and result.isdigit():
            image_of(int(result))
        elif name in ("execve", "execveat") and result == "0":
            quoted = QUOTED.search(text)
            before = image_of(pid) if pid in made_by else now.get(pid)
            add(Image(pid, quoted.group(1) if quoted else "", before))
    return [image for image in images if not image.is_of_launcher]


def account(images: Iterable[Image], logs: Iterable[Log], named: Iterable[Unrecorded]) -> None:
    """Notes which images have a log and which are named. Of one process that was several programs, each log is of the next one."""
    begun: dict[int, list[str]] = defaultdict(list)
    for log in sorted(logs, key=lambda log: int(log.header["begin_ns"])):
        begun[log.header["process"]].append(log.header["program"])
    names = Counter((each.process or each.parent, each.process == 0) for each in named)
    for image in images:
        if image.is_silent:
            continue
        mine = begun[image.process]
        wanted = os.path.realpath(shutil.which(image.program) or image.program) if image.program else ""
        if mine and (not wanted or wanted == mine[0] or not _is_elf(wanted)):
            mine.pop(0)
            image.is_recorded = True
    for image in images:
        if image.is_recorded or image.is_silent:
            continue
        parent = image.parent
        while parent is not None and parent.is_silent:
            parent = parent.parent
        keys = [(image.process, False), *([(parent.process, True)] if parent else [])]
        for key in keys:
            if names[key] > 0:
                names[key] -= 1
                image.is_named = True
                break


def _is_elf(path: str) -> bool:
    try:
        with Path(path).open("rb") as file:
            return file.read(4) == b"\x7fELF"
    except OSError:
        return False


def bytes_in(logs: Iterable[Log], name: str) -> int:
    """Bytes that were written to a file, by write and by streams."""
    total = 0
    for log in logs:
        for event in log.events:
            moves = log.calls[int(event["call"])].group in ("write", "flush")
            if moves and log.name_of(int(event["file"])).endswith(name) and event["result"] > 0:
                total += int(event["result"])
    return total
