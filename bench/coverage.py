"""Compares the tracer's logs of programs of all kinds with strace, the oracle.

    make bench NAME=coverage [SIZE=quick|full] [ARGS="--seed N"]

docs/benchmarks.md describes what is measured and how to read it; bench/bounds.toml has the bounds.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from rich.table import Table
from tailrace.trace.check import Verdict
from tailrace.trace.program_file import NoProgram

from bench import harness
from bench.harness import BenchError, Claim, console, covered, oracle, starts, whole_programs
from bench.harness.covered import Result

SOURCES = harness.ROOT / "bench" / "coverage"
SCRATCH = harness.BUILD / "bench-scratch" / "coverage"
LIMIT_S, DRAWN_LIMIT_S = 60, 20
KILLED = -signal.SIGKILL
POSIX, MPI_FILES = "posix.c", "mpi_files.F90"
DRAWN = {"quick": 5, "full": 20}  # by size
BIN = Path("/usr/bin")
# Programs that might do more than show their help: power, users, disks, packages, processes, services, terminals, networks, and
# those of the bench cluster.
EXCLUDED = re.compile(
    r"reboot|shutdown|poweroff|halt|init|systemd|systemctl|journalctl|loginctl|dd$|mk|fdisk|part|wipe|shred|kill|rm|mv|ln|cp"
    r"|install|vi|view|ex$|nano|emacs|ed$|less|more|man|pager|top|screen|tmux|script|ssh|scp|sftp|login|su$|sudo|passwd|ch[a-z]+$"
    r"|apt|dpkg|deb|update|mount|srun|sbatch|salloc|scancel|scontrol|slurm|munge"
    r"|mfs|moosefs|gluster|chrom|bonnie|fio|yes|mpi|orte|prte|hydra"
    r"|xdg|dbus|gdb|strace|perf|cron|at$|batch|write|wall|mesg|nohup|setsid|unshare|nsenter|run|watch|sleep|wait|crash|core|gpg|key"
    r"|pkexec|polkit|x-|X|browse|open|snap|flatpak|docker|pip|uv|npm|git|reset|tset|stty|clear|tput"
)


@dataclasses.dataclass(frozen=True)
class Kind:
    name: str
    words: Callable[[], list[str]]  # as in a shell, in an empty folder
    quick: bool = False
    compiled: Sequence[str] = ()  # the compiler and its options; the last is a source in bench/coverage
    ends_with: int = 0
    checked: str = ""  # the program that `tailrace check` looks at, where it is not the first word


def built(kind: str) -> str:
    return str(SCRATCH / "bin" / kind)


def posix(kind: str, what: str, quick: bool = False, options: Sequence[str] = ("-O1",), ends_with: int = 0) -> Kind:
    return Kind(kind, lambda: [built(kind), what], quick, ["gcc", "-pthread", *options, POSIX], ends_with)


def rank(kind: str, compiler: str, *options: str) -> Kind:
    """A single rank, started without mpirun, because Open MPI's own helpers are not recorded."""
    return Kind(kind, lambda: [built(kind)], compiled=[compiler, *options])


def shell(name: str, words: str, program: str, quick: bool = False) -> Kind:
    return Kind(name, lambda: ["sh", "-c", words], quick, checked=program)


CDL = "netcdf a { dimensions: x = 1000; variables: double v(x); data: v = " + ", ".join(map(str, range(1000))) + "; }"
FORTIFIED = ("-O2", "-D_FORTIFY_SOURCE=2")
KINDS = (
    posix("C, descriptors", "descriptors", quick=True),
    posix("C, streams", "streams", quick=True),
    posix("fortified, descriptors", "descriptors", options=FORTIFIED),
    posix("fortified, streams", "streams", quick=True, options=FORTIFIED),
    Kind("C++ streams", lambda: [built("C++ streams")], True, ["g++", "-O1", "-std=c++20", "streams.cpp"]),
    Kind("Fortran", lambda: [built("Fortran")], True, ["gfortran", "-O1", "files.f90"]),
    rank("Fortran, module mpi", "mpif90.openmpi", "-DOLD", MPI_FILES),
    rank("Fortran, module mpi_f08", "mpif90.openmpi", MPI_FILES),
    rank("MPI-IO", "mpicc.openmpi", "mpi_io.c"),
    Kind("Python, numpy", lambda: [sys.executable, str(SOURCES / "arrays.py"), "numpy"], True),
    Kind("Python, h5py", lambda: [sys.executable, str(SOURCES / "arrays.py"), "h5py"]),
    shell("ncgen", f"echo '{CDL}' > a.cdl; ncgen -k nc4 -o a.nc a.cdl", "ncgen"),
    shell("nccopy", f"echo '{CDL}' > a.cdl; ncgen -o a.nc a.cdl; nccopy -k nc4 -d 1 a.nc b.nc; nccopy -k cdf5 b.nc c.nc", "nccopy"),
    shell("cdo", "cdo -f nc -topo,r72x36 a.nc; cdo -f nc4 mulc,2 a.nc b.nc", "cdo"),
    shell(
        "sqlite3", "sqlite3 a.db 'create table t(x); insert into t values(1),(2); select sum(x) from t; vacuum;'", "sqlite3", True
    ),
    shell("tar", "cp -r /etc/apt here; tar czf a.tgz here; mkdir out; tar xzf a.tgz -C out; diff -r here out/here", "tar"),
    posix("threads", "threads"),
    posix("fork", "children", quick=True),
    posix("spawned programs", "programs", quick=True),
    posix("mmap", "maps"),
    posix("asynchronous", "later"),
    posix("killed", "killed", quick=True, ends_with=KILLED),
)


def compile_kind(kind: Kind) -> None:
    if not kind.compiled:
        return
    *words, source = kind.compiled
    made = Path(built(kind.name))
    made.parent.mkdir(parents=True, exist_ok=True)
    done = subprocess.run([*words, str(SOURCES / source), "-o", str(made)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise BenchError(f"{' '.join(words)} {source}: {done.stderr[-2000:]}\ninstall the compilers with `make setup`")


def run_kind(kind: Kind) -> Result:
    compile_kind(kind)
    variables = harness.mpi_environment({})
    result = covered.run(kind.words(), SCRATCH / "run", program=kind.checked, timeout_s=LIMIT_S, variables=variables)
    if result.status != kind.ends_with:
        printed = (SCRATCH / "run" / "traced.out").read_text(errors="replace")[-1000:]
        raise BenchError(f"{kind.name}: ended with status {result.status}, expected {kind.ends_with}; its last lines:\n{printed}")
    return result


def drawn(seed: int, count: int) -> list[Path]:
    """Programs of /usr/bin without the excluded ones."""
    harmless = [
        path
        for path in sorted(BIN.iterdir())
        if not EXCLUDED.search(path.name) and path.is_file() and os.access(path, os.X_OK) and not path.is_symlink()
    ]
    return random.Random(seed).sample(harmless, min(4 * count, len(harmless)))


def run_drawn(seed: int, count: int) -> Iterator[tuple[str, Result]]:
    """Runs drawn programs until `count` have run. Programs that wait for input or cannot be checked are skipped."""
    done = 0
    for path in drawn(seed, count):
        if done == count:
            return
        try:
            result = covered.run([str(path), "--help"], SCRATCH / "run", timeout_s=DRAWN_LIMIT_S)
        except (subprocess.TimeoutExpired, NoProgram) as error:
            console.print(f"skipped: {path.name} ({type(error).__name__})", markup=False)
            continue
        done += 1
        yield path.name, result


def row_of(name: str, how: str, result: Result) -> dict[str, object]:
    return {"program": name, "how": how, **dataclasses.asdict(result), "verdict": result.verdict.name.lower()}


def claims_of(results: Sequence[tuple[str, str, Result]]) -> list[Claim]:
    wanted = {claim["id"]: claim for claim in harness.bounds("coverage")["claims"]}
    claims = []
    for how in dict.fromkeys(how for _, how, _ in results):
        of = [result for _, each, result in results if each == how]
        values = {
            "calls": sum(result.calls.of_all_or_named == 1 for result in of) / len(of),
            "bytes": sum(result.moved.of_all_or_named == 1 for result in of) / len(of),
            "seen": sum(result.moved.seen for result in of) / max(1, sum(result.moved.total for result in of)),
        }
        claims += [
            Claim(f"{key}/{how}", wanted[key]["text"], value, wanted[key]["bound"], "share") for key, value in values.items()
        ]
    same = sum(result.same for _, how, result in results if how == "kind") / max(1, sum(how == "kind" for _, how, _ in results))
    return [*claims, Claim("same/kind", wanted["same"]["text"], same, wanted["same"]["bound"], "share")]


def run_starts() -> list[dict[str, object]]:
    """A row for each way of starting a child."""
    programs = starts.compile_programs(SCRATCH / "programs")
    for above in (SCRATCH, SCRATCH / "programs"):
        above.chmod(0o755)  # one child is of another user
    rows: list[dict[str, object]] = []
    for way in starts.WAYS:
        started = starts.run(way, programs, SCRATCH / "start")
        if started.status != 0 or started.written != starts.BYTES:
            printed = (SCRATCH / "start" / "out").read_text(errors="replace")[-1000:]
            raise BenchError(f"{way.name}: status {started.status}, {started.written} bytes written; its last lines:\n{printed}")
        missing = [f"{image.process} {image.program}".strip() for image in started.missing]
        rows.append({"start": way.name, "processes": len(started.images), "found": started.found, "missing": missing})
    return rows


def claim_of_starts(rows: Sequence[dict[str, object]]) -> Claim:
    (wanted,) = (claim for claim in harness.bounds("coverage")["claims"] if claim["id"] == "starts")
    whole = sum(not row["missing"] and bool(row["found"]) for row in rows) / max(1, len(rows))
    return Claim("starts", wanted["text"], whole, wanted["bound"], "share")


def run_whole() -> list[dict[str, object]]:
    """A row for each program of which `tailrace coverage` should end with 0."""
    programs = whole_programs.compile_programs(SCRATCH / "programs")
    rows: list[dict[str, object]] = []
    for program in whole_programs.PROGRAMS:
        result = whole_programs.run(program, programs, SCRATCH / "whole")
        if result.status != 0:
            raise BenchError(f"{program.name}: ended with status {result.status}; its last lines:\n{result.said}")
        rows.append({"whole program": program.name, "coverage": result.coverage, "said": result.said})
        if not result.is_whole:
            console.print(f"{program.name}: coverage ends with {result.coverage}: {result.said}", markup=False)
    return rows


def claim_of_whole(rows: Sequence[dict[str, object]]) -> Claim:
    (wanted,) = (claim for claim in harness.bounds("coverage")["claims"] if claim["id"] == "whole")
    whole = sum(row["coverage"] == 0 for row in rows)
    return Claim("whole", wanted["text"], whole / max(1, len(rows)), wanted["bound"], "share")


def print_starts(rows: Sequence[dict[str, object]]) -> None:
    table = Table(title="Ways of starting a child: is each process recorded or named?", title_justify="left")
    for heading in ("way", "processes", "the child that writes is", "missing"):
        table.add_column(heading, justify="right" if heading == "processes" else "left")
    for row in rows:
        missing = row["missing"]
        assert isinstance(missing, list)
        table.add_row(str(row["start"]), str(row["processes"]), str(row["found"]), ", ".join(missing))
    console.print(table)


def print_results(results: Sequence[tuple[str, str, Result]]) -> None:
    table = Table(title="Programs: the part of strace's calls and bytes that is in the logs", title_justify="left")
    for heading in ("program", "calls", "seen", "or named", "bytes", "seen", "or named", "loader's calls", "check"):
        table.add_column(heading, justify="left" if heading in ("program", "check") else "right")
    for name, _, of in results:
        shares = [
            text
            for share in (of.calls, of.moved)
            for text in (str(share.total), f"{100 * share.of_all:.1f} %", f"{100 * share.of_all_or_named:.1f} %")
        ]
        said = {Verdict.SEEN: "all", Verdict.GAPS: f"{len(of.findings)} gaps", Verdict.UNTRACEABLE: "not traceable"}[of.verdict]
        table.add_row(name, *shares, str(of.loader_calls), said)
    console.print(table)
    for name, _, of in results:
        for what, share in (("calls", of.calls), ("bytes", of.moved)):
            for key, missing in list(share.missing.items())[:6]:
                console.print(f"{name}: {missing} {what} neither in the logs nor reported by check: {key}", markup=False)


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench.coverage", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--size", choices=DRAWN, default="quick")
    parser.add_argument("--seed", type=int, default=time.time_ns() % 100_000)
    arguments = parser.parse_args()
    if shutil.which("strace") is None:
        raise BenchError("strace, the oracle, is missing: install it with `make setup`")
    settings = {
        "oracle": "strace -f -y; each program runs twice: alone, and with the tracer, where its lines are compared with the logs",
        "compared": f"calls ({', '.join(oracle.CLASSES)}) by file, and bytes by file; of streams the bytes",
        "set apart": "the loader: from execve until it gives its cache back, files named *.so*; children of vfork until execve",
        "seed": f"{arguments.seed} (--seed draws the same programs of {BIN} again)",
    }
    harness.print_settings("Settings", settings)
    started = time.monotonic()
    results: list[tuple[str, str, Result]] = []
    try:
        for kind in KINDS:
            if kind.quick or arguments.size == "full":
                results.append((kind.name, "kind", run_kind(kind)))
        results += [(name, "drawn", result) for name, result in run_drawn(arguments.seed, DRAWN[arguments.size])]
        started_rows, whole_rows = run_starts(), run_whole()
    finally:
        shutil.rmtree(SCRATCH, ignore_errors=True)
    print_results(results)
    print_starts(started_rows)
    claims = [*claims_of(results), claim_of_starts(started_rows), claim_of_whole(whole_rows)]
    rows = [*(row_of(*each) for each in results), *started_rows, *whole_rows]
    said = f"{len(results)} programs in {time.monotonic() - started:.0f} s"
    return harness.conclude("coverage", {"size": arguments.size, **settings}, rows, claims, "Claims (1.00: all)", said)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BenchError as error:
        sys.exit(f"bench coverage: {error}")
