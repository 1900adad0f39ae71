"""Programs that a traced one starts: each is recorded, or named."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tailrace.cli import recorded_run
from tailrace.trace.log import Log, read_run
from tailrace.trace.started import missing_ranks, unrecorded_in, unrecorded_processes

from tests.environment import open_mpi_environment

BYTES = 70_000
WRITE = f"head -c {BYTES} /dev/zero > child.out"
OTHER_ENVIRONMENT = "env={'PATH': '/usr/bin:/bin'}"
LIBZ = "/lib/x86_64-linux-gnu/libz.so.1"


def python(script: str) -> list[str]:
    return [sys.executable, "-c", script]


# How a child is started that writes child.out. All these are recorded.
RECORDED: dict[str, list[str]] = {
    "sh": ["sh", "-c", WRITE],
    "sh, then exec": ["sh", "-c", f"exec sh -c '{WRITE}'"],
    "in the background": ["sh", "-c", f"({WRITE}) & wait"],
    "env -i": ["env", "-i", "/bin/sh", "-c", WRITE],
    "env -u": ["env", "-u", "LD_PRELOAD", "-u", "TAILRACE_TRACE", "sh", "-c", WRITE],
    "another LD_PRELOAD": ["env", f"LD_PRELOAD={LIBZ}", "/bin/sh", "-c", WRITE],
    "a shell that clears it": ["sh", "-c", f"unset LD_PRELOAD TAILRACE_TRACE; sh -c '{WRITE}'"],
    "setsid": ["setsid", "-w", "sh", "-c", WRITE],
    "timeout": ["timeout", "20", "sh", "-c", WRITE],
    "xargs": ["sh", "-c", f"echo '{WRITE}' | xargs -I {{}} sh -c '{{}}'"],
    "nice and nohup": ["nice", "nohup", "sh", "-c", WRITE],
    "subprocess": python(f"import subprocess; subprocess.run({['sh', '-c', WRITE]}, check=True)"),
    "subprocess, own environment": python(f"import subprocess; subprocess.run({['sh', '-c', WRITE]}, {OTHER_ENVIRONMENT})"),
    "subprocess, searched": python(f"import subprocess; subprocess.run({['sh', '-c', WRITE]}, env={{'PATH': '/nowhere:/bin'}})"),
    "subprocess, new session": python(f"import subprocess; subprocess.run({['sh', '-c', WRITE]}, start_new_session=True)"),
    "posix_spawn": python(f"import os; os.waitpid(os.posix_spawn('/bin/sh', {['sh', '-c', WRITE]}, {{}}), 0)"),
    "posix_spawnp": python(f"import os; os.waitpid(os.posix_spawnp('sh', {['sh', '-c', WRITE]}, {{}}), 0)"),
    "fork and execve": python(f"import os; os.fork() or os.execve('/bin/sh', {['sh', '-c', WRITE]}, {{}}); os.wait()"),
    "execvpe": python(f"import os; os.execvpe('sh', {['sh', '-c', WRITE]}, {{'PATH': '/bin'}})"),
    "system": python(f"import os; os.system({WRITE!r})"),
    "popen": python(f"import os; os.popen({WRITE!r}).read()"),
    "a namespace of processes": ["unshare", "--fork", "--pid", "sh", "-c", f"{WRITE}; true"],
    "fork": python(f"import os\nif os.fork(): os.wait()\nelse: open('child.out', 'wb').write(bytes({BYTES}))"),
    "double fork": python(  # the pipe ends with the last process
        "import os\nr, w = os.pipe()\n"
        f"if os.fork() == os.fork() == 0: open('child.out', 'wb').write(bytes({BYTES}))\n"
        "os.close(w)\nos.read(r, 1)"
    ),
}


@pytest.fixture
def command(tailrace_command: list[str]) -> list[str]:
    return tailrace_command


def run(command: list[str], folder: Path, words: Sequence[str | Path], *options: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, **open_mpi_environment()}
    words = [*command, "run", *options, "--log", "log", "--", *map(str, words)]
    return subprocess.run(words, cwd=folder, env=env, capture_output=True, text=True, check=False, timeout=60)


def logs_in(folder: Path) -> list[Log]:
    logs, damaged = read_run(folder / "log")
    assert not damaged
    return logs


def written_to(logs: list[Log], name: str) -> int:
    """By write and by streams."""
    total = 0
    for log in logs:
        for event in log.events:
            moves = log.calls[int(event["call"])].group in ("write", "flush")
            if moves and log.name_of(int(event["file"])).endswith(name) and event["result"] > 0:
                total += int(event["result"])
    return total


def coverage(command: list[str], folder: Path) -> tuple[int, dict[str, Any]]:
    done = subprocess.run([*command, "coverage", "--json", "log"], cwd=folder, capture_output=True, text=True, check=False)
    return done.returncode, json.loads(done.stdout)


@pytest.mark.parametrize("how", RECORDED)
def test_a_child_is_recorded(command: list[str], tmp_path: Path, how: str) -> None:
    done = run(command, tmp_path, RECORDED[how])
    assert (tmp_path / "child.out").stat().st_size == BYTES, done.stderr
    logs = logs_in(tmp_path)
    assert unrecorded_in(logs) == []
    assert "without a log" not in done.stderr
    assert written_to(logs, "child.out") == BYTES
    status, answer = coverage(command, tmp_path)
    assert answer["unrecorded"] == []
    assert status == 0, answer


def run_workers(command: list[str], folder: Path, method: str) -> None:
    """Six files of 10,000 bytes by two workers, which the pool ends by SIGTERM."""
    script = folder / "workers.py"
    script.write_text(
        "import multiprocessing as mp\n"
        "def work(i):\n    open(f'out.{i}', 'wb').write(bytes(10000))\n"
        f"if __name__ == '__main__':\n    with mp.get_context('{method}').Pool(2) as pool: pool.map(work, range(6))\n"
    )
    run(command, folder, [sys.executable, script])


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_workers_of_multiprocessing(command: list[str], tmp_path: Path, method: str) -> None:
    run_workers(command, tmp_path, method)
    logs = logs_in(tmp_path)
    assert sum(written_to(logs, f"out.{i}") for i in range(6)) == 60000
    assert unrecorded_in(logs) == []


@pytest.fixture(scope="module")
def static(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("static")
    (folder / "child.c").write_text(
        "#include <fcntl.h>\n#include <stdlib.h>\n#include <unistd.h>\n"
        "int main(int count, char **words) {\n"
        f'    int file = open("static.out", O_CREAT | O_WRONLY, 0644); static char bytes[{BYTES}];\n'
        "    if (write(file, bytes, sizeof bytes) < 0) return 1;\n"
        "    return count > 1 ? system(words[1]) : close(file);\n}\n"
    )
    subprocess.run(["gcc", "-static", "child.c", "-o", "child"], cwd=folder, check=True)
    return folder / "child"


# Of the programs that the tracer cannot be in.
STARTS = {
    "sh": ["sh", "-c", "CHILD; true"],
    "sh, then exec": ["sh", "-c", "exec CHILD"],
    "subprocess": python("import subprocess; subprocess.run(['CHILD'])"),
    "posix_spawn": python("import os; os.waitpid(os.posix_spawn('CHILD', ['x'], {}), 0)"),
    "fork and execv": python("import os; os.fork() or os.execv('CHILD', ['x']); os.wait()"),
}


@pytest.mark.parametrize("how", STARTS)
def test_a_child_that_cannot_be_recorded_is_named(command: list[str], tmp_path: Path, static: Path, how: str) -> None:
    done = run(command, tmp_path, [word.replace("CHILD", str(static)) for word in STARTS[how]])
    assert (tmp_path / "static.out").stat().st_size == BYTES
    (named,) = unrecorded_processes(logs_in(tmp_path))
    assert named.program == str(static)
    assert named.process > 0
    assert done.stderr.count(str(static)) == 1, done.stderr
    status, answer = coverage(command, tmp_path)
    assert status == 1
    assert [each["program"] for each in answer["unrecorded"]] == [str(static)]
    shown = subprocess.run([*command, "trace", "show", "log"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert f"without a log: {named.text}" in shown


def test_children_of_a_static_program_are_recorded(command: list[str], tmp_path: Path, static: Path) -> None:
    run(command, tmp_path, ["sh", "-c", f"{static} '{WRITE}'"])
    logs = logs_in(tmp_path)
    assert written_to(logs, "child.out") == BYTES
    assert len(unrecorded_processes(logs)) == 1


def test_a_program_with_the_rights_of_another_user_is_named(command: list[str], tmp_path: Path) -> None:
    """The loader of a set-uid program takes no library from the environment."""
    if os.statvfs(tmp_path).f_flag & os.ST_NOSUID:
        pytest.skip("files of other users are started without their rights here")
    program = tmp_path / "copy"
    program.write_bytes(Path("/bin/cat").read_bytes())
    os.chown(program, 65534, 65534)
    program.chmod(0o4755)
    done = run(command, tmp_path, ["sh", "-c", f"{program} /etc/hostname > out; true"])
    assert (tmp_path / "out").read_text() == Path("/etc/hostname").read_text()
    (named,) = unrecorded_processes(logs_in(tmp_path))
    assert named.program == str(program)
    assert done.stderr.count("without a log") == 1


def test_a_program_of_another_loader_gets_no_library(command: list[str], tmp_path: Path) -> None:
    """Its loader would complain on standard error, or end the program. Here it is glibc's, under another name."""
    program, loader = tmp_path / "program", tmp_path / "ld-other.so.1"
    loader.symlink_to("/lib64/ld-linux-x86-64.so.2")
    (tmp_path / "main.c").write_text(
        '#include <stdio.h>\n#include <stdlib.h>\nint main(void) { puts(getenv("LD_PRELOAD") ? "set" : "none"); }\n'
    )
    subprocess.run(["gcc", "main.c", "-o", program, f"-Wl,--dynamic-linker={loader}"], cwd=tmp_path, check=True)
    done = run(command, tmp_path, ["sh", "-c", f"{program}; true"])
    assert done.stdout == "none\n"
    assert [named.program for named in unrecorded_processes(logs_in(tmp_path))] == [str(program)]


def test_starts_that_fail_are_not_named(command: list[str], tmp_path: Path) -> None:
    script = (
        "import os, subprocess\n"
        "for start in (lambda: subprocess.run(['/no/such/program']), lambda: os.posix_spawn('/no/such', ['x'], {}),\n"
        "              lambda: os.execv('/no/such', ['x'])):\n"
        "    try: start()\n    except FileNotFoundError: pass\n"
        "os.fork() or os._exit(0)\n"
        "os.wait()\n"
    )
    done = run(command, tmp_path, python(script))
    assert unrecorded_in(logs_in(tmp_path)) == []
    assert coverage(command, tmp_path)[0] == 0, done.stderr


def test_no_follow_leaves_an_environment_as_it_is(command: list[str], tmp_path: Path) -> None:
    done = run(command, tmp_path, ["env", "-i", "/usr/bin/env"], "--no-follow")
    assert done.stdout == ""
    assert [named.program for named in unrecorded_processes(logs_in(tmp_path))] == ["/usr/bin/env"]
    assert coverage(command, tmp_path)[0] == 1


def test_what_a_child_sees_is_its_own_environment(command: list[str], tmp_path: Path) -> None:
    """But for the tracer's variables: nothing else is added, changed or lost, and what it preloads itself comes after."""
    wanted = {"A": "1", "LD_PRELOAD": LIBZ, "B": "x=y z", "TAILRACE_LAYOUT": "fpp"}
    script = f"import os; os.execve('/usr/bin/env', ['env'], {wanted})"
    seen = dict(line.split("=", 1) for line in run(command, tmp_path, python(script)).stdout.splitlines())
    preloaded = seen.pop("LD_PRELOAD").split()
    assert [Path(name).name for name in preloaded] == ["libtailrace-preload.so", Path(LIBZ).name]
    assert seen.pop("TAILRACE_TRACE") == str(tmp_path / "log")
    assert seen.pop("TAILRACE_TRACE_BYTES")
    assert seen == {"A": "1", "B": "x=y z", "TAILRACE_LAYOUT": "fpp"}


def test_names_of_programs_reach_the_terminal_as_text(command: list[str], tmp_path: Path, static: Path) -> None:
    program = tmp_path / "a\x1b[31mb"
    program.write_bytes(static.read_bytes())
    program.chmod(0o755)
    done = run(command, tmp_path, ["sh", "-c", 'for f in a*b; do "./$f"; done; true'])
    assert "\\x1b[31mb" in done.stderr
    assert "\x1b" not in done.stderr


def test_ranks_without_a_log_are_named(command: list[str], tmp_path: Path, static: Path, needs: Any) -> None:
    needs("mpirun")
    words = ["mpirun", "--oversubscribe", "--bind-to", "none", "-n", "1", "true", ":", "-n", "2", str(static)]
    done = run(command, tmp_path, words)
    assert missing_ranks(logs_in(tmp_path)) == ["2 of 3 ranks have no log: 1, 2"]
    assert "2 of 3 ranks have no log: 1, 2" in done.stderr
    assert coverage(command, tmp_path)[0] == 1


def test_all_ranks_are_there(command: list[str], tmp_path: Path, needs: Any) -> None:
    needs("mpirun")
    run(command, tmp_path, ["mpirun", "--oversubscribe", "--bind-to", "none", "-n", "2", "sh", "-c", "true"])
    assert unrecorded_in(logs_in(tmp_path)) == []


# ---- transfers that the C library does not make --------------------------------------------------------------------------------


def compiled(folder: Path, name: str, text: str, *options: str) -> Path:
    (folder / f"{name}.c").write_text(text)
    subprocess.run(["gcc", "-w", f"{name}.c", "-o", name, *options], cwd=folder, check=True)
    return folder / name


AIO = """#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
int main(void) {
    aio_context_t context = 0;
    char *data = NULL;
    if (posix_memalign((void **)&data, 4096, 8192)) return 1;
    int fd = open("aio.dat", O_CREAT | O_RDWR, 0644);
    if (syscall(SYS_io_setup, 8, &context)) return 2;
    struct iovec parts[2] = {{data, 4096}, {data + 4096, 4096}};
#define REQUEST(code, from, bytes, at) \\
    {.aio_lio_opcode = code, .aio_fildes = fd, .aio_buf = (long)from, .aio_nbytes = bytes, .aio_offset = at}
    struct iocb one = REQUEST(IOCB_CMD_PWRITE, data, 8192, 512), two = REQUEST(IOCB_CMD_PWRITEV, parts, 2, 16384);
    struct iocb three = REQUEST(IOCB_CMD_PREAD, data, 4096, 0);
    struct iocb *list[3] = {&one, &two, &three};
    struct io_event done[3];
    for (int i = 0; i < 3; ++i) {
        if (syscall(SYS_io_submit, context, 1, list + i) != 1) return 3;
        if (syscall(SYS_io_getevents, context, 1, 1, done, NULL) != 1) return 4;
    }
    return 0;
}
"""


# The same calls by libaio's functions. Its header is not needed.
LIBAIO = AIO.replace("int main", "long io_setup(int, void *), io_submit(aio_context_t, long, void *);\nint main")
LIBAIO = LIBAIO.replace("syscall(SYS_io_setup, ", "io_setup(").replace("syscall(SYS_io_submit, ", "io_submit(")


@pytest.mark.parametrize("by", ["syscall", "libaio"])
def test_requests_of_the_kernels_asynchronous_interface(command: list[str], tmp_path: Path, by: str) -> None:
    program = compiled(tmp_path, "aio", LIBAIO, "-l:libaio.so.1") if by == "libaio" else compiled(tmp_path, "aio", AIO)
    done = run(command, tmp_path, [program])
    assert done.returncode == 0
    (log,) = logs_in(tmp_path)
    found = [
        (log.calls[int(event["call"])].name, int(event["offset"]), int(event["bytes"]))
        for event in log.events
        if log.name_of(int(event["file"])).endswith("aio.dat") and log.calls[int(event["call"])].group in ("read", "write")
    ]
    assert found == [("io_submit_write", 512, 8192), ("io_submit_write", 16384, 8192), ("io_submit_read", 0, 4096)]
    status, answer = coverage(command, tmp_path)
    assert status == 0, answer
    (process,) = answer["processes"]
    assert {each["kind"] for each in process["unseen"]} == {"io_submit_read", "io_submit_write"}


def test_io_uring_is_named(command: list[str], tmp_path: Path) -> None:
    text = """#include <string.h>
#include <linux/io_uring.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(void) { struct io_uring_params p; memset(&p, 0, sizeof p); return syscall(SYS_io_uring_setup, 4, &p) < 0; }
"""
    done = run(command, tmp_path, [compiled(tmp_path, "ring", text)])
    status, answer = coverage(command, tmp_path)
    (process,) = answer["processes"]
    refused = done.returncode != 0  # by this kernel
    assert status == (0 if refused else 1)
    assert any(each["kind"] == "io_uring" for each in process["unseen"]) != refused


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_bytes_of_killed_workers_are_their_own(command: list[str], tmp_path: Path, method: str) -> None:
    """A pool ends its workers by SIGTERM. What they wrote is in their logs, and not in the rest of their parent."""
    run_workers(command, tmp_path, method)
    _status, answer = coverage(command, tmp_path)
    for process in answer["processes"]:
        assert process["rest"]["written_bytes"] == 0, process


def test_run_says_where_it_did_not_look(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.setattr(recorded_run, "MOST_READ_BYTES", 1)
    (tmp_path / "a.trace").write_bytes(b"more than one byte")
    recorded_run._name_unrecorded(tmp_path)
    assert "processes without a log were not looked for; `tailrace coverage" in capsys.readouterr().err
