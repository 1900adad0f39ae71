"""Runs one member in a worker: makes its directory, runs the command, waits for outputs, reads results, keeps outputs."""

from __future__ import annotations

import contextlib
import glob
import hashlib
import os
import shutil
import socket
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tailrace.ensemble import keeper
from tailrace.ensemble.directory import LOG, MemberDirectory
from tailrace.ensemble.marks import VARIABLE, mark_of
from tailrace.ensemble.readings import read_results
from tailrace.ensemble.scratch import InputFile, Scratch, scratch_of_process
from tailrace.ensemble.templates import MEMBER, Text
from tailrace.ensemble.values import MemberError, Spec, Value
from tailrace.process import tail

TAIL_LINES = 20
PIECE_BYTES = 1 << 20


@dataclass(frozen=True)
class Plan:
    """What all members have in common. It is sent to workers on other nodes."""

    spec: Spec
    run: str  # names this ensemble on scratch and in the environment of its processes
    kept: str  # the folder for outputs
    files: tuple[InputFile, ...]
    templates: tuple[tuple[str, Text], ...]  # the member's file and its text
    command: tuple[Text, ...]
    environment: tuple[tuple[str, Text], ...] = ()
    fields: str = ""  # the folder for members' files of fields


@dataclass
class Outcome:
    """The result of running a member. `reason`: a key of REASONS, or "" for a member that did not fail."""

    member: int
    reason: str = ""
    message: str = ""
    log: str = ""  # the last lines of the member's output, if it failed
    results: dict[str, Value] = field(default_factory=dict)
    parameters: dict[str, Value] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)  # of stage, run, wait, read and keep
    kept: dict[str, list[Any]] = field(default_factory=dict)  # name -> size in bytes, checksum
    fields: dict[str, Any] = field(default_factory=dict)  # size and checksum of the member's file of fields, and their signature
    facts: dict[str, Any] = field(default_factory=dict)  # host, begin, attempts, memory_mib, memory_limit, cpu_s, status, leases
    directory: str = ""  # the copy of the member's directory, if it was kept

    @property
    def ok(self) -> bool:
        return not self.reason


def run_here(plan: Plan, member: int, parameters: dict[str, Value]) -> Outcome:
    """Runs a member in this process, which is a worker. Runs a failed member again, up to [limits] retries times.

    Raises only ParentEndedError."""
    for attempt in range(1, plan.spec.limits.retries + 2):
        outcome = _attempt(plan, member, parameters)
        outcome.facts["attempts"] = attempt
        if outcome.ok or outcome.reason in ("parameter", "input changed"):  # would fail again
            break
    return outcome


def _attempt(plan: Plan, member: int, parameters: dict[str, Value]) -> Outcome:
    outcome = Outcome(member, parameters=parameters)
    outcome.facts = {"host": socket.gethostname(), "begin": time.time()}
    directory: MemberDirectory | None = None
    scratch: Scratch | None = None
    closed: Sequence[str] = ()
    try:
        with _timed(outcome, "stage"):
            texts = _texts(plan, {**parameters, MEMBER: member})
            scratch = _scratch(plan)
            directory = scratch.take(plan.spec.limits.min_free_mib, files_read(plan.spec))
            _write_templates(texts["files"], directory.path)
        closed = _run(plan, outcome, scratch, directory, texts)
        if plan.spec.readings:
            with _timed(outcome, "read"):
                outcome.results = read_results(plan.spec.readings, Path(plan.spec.home), Path(directory.path), parameters)
        if plan.spec.fields:
            with _timed(outcome, "gather"):
                _keep_fields(plan, outcome, Path(directory.path), parameters)
        if plan.spec.keep.files:
            with _timed(outcome, "keep"):
                _keep(plan, outcome, Path(directory.path))
    except MemberError as error:
        outcome.reason, outcome.message, outcome.results = error.reason, error.message, {}
        if directory is not None:
            outcome.log = _last_lines(Path(directory.path) / LOG)
    finally:
        if directory is not None and scratch is not None:
            _keep_directory(plan, outcome, directory.path)
            scratch.give_back(directory, closed if outcome.ok and plan.spec.inputs.reuse else ())
    return outcome


def _scratch(plan: Plan) -> Scratch:
    try:
        return scratch_of_process(plan.spec.engine.scratch, plan.run, plan.files)
    except OSError as error:
        raise MemberError(
            "scratch", f"{error.filename}: {error.strerror}: choose another folder as `scratch` of [engine]"
        ) from None


@contextlib.contextmanager
def _timed(outcome: Outcome, name: str) -> Any:
    begin = time.monotonic()
    try:
        yield
    finally:
        outcome.seconds[name] = time.monotonic() - begin


def _texts(plan: Plan, values: Mapping[str, Value]) -> dict[str, Any]:
    return {
        "files": [(target, text.fill(values)) for target, text in plan.templates],
        "command": [text.fill(values) for text in plan.command],
        "environment": {name: text.fill(values) for name, text in plan.environment},
    }


def _write_templates(files: list[tuple[str, str]], directory: str) -> None:
    try:
        for target, text in files:
            path = Path(directory, target)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    except OSError as error:
        raise MemberError("scratch", f"{error.filename}: {error.strerror}") from None


def files_read(spec: Spec) -> list[str]:
    return [name for name in (*(one.file for one in spec.readings), *(one.file for one in spec.fields)) if name]


def outputs_of(spec: Spec) -> list[str]:
    """The files that must have been handed over before results are read."""
    return list(dict.fromkeys([*files_read(spec), *spec.keep.files]))


def _run(plan: Plan, outcome: Outcome, scratch: Scratch, directory: MemberDirectory, texts: Mapping[str, Any]) -> list[str]:
    """Runs the member's command. Returns those of the log and the copies of inputs that no process has open for writing."""
    limits = plan.spec.limits
    mark = mark_of(plan.run, scratch.owner, outcome.member)
    request = {
        "directory": directory.path,
        "command": texts["command"],
        "environment": {**texts["environment"], VARIABLE: mark},
        "log": f"{directory.path}/{LOG}",
        "timeout_s": limits.timeout_s,
        "grace_s": limits.grace_s,
        "linger_s": limits.linger_s,
        "memory_mib": limits.memory_mib,
        "memory_by": limits.memory_by,
        "outputs": outputs_of(plan.spec),
        "inputs": [LOG, *directory.copies] if plan.spec.inputs.reuse else [],
    }
    reply = keeper.run(request)
    outcome.seconds |= {"run": reply["run_s"], "wait": reply["wait_s"]}
    known = ("status", "cpu_s", "memory_mib", "memory_limit", "leases")
    outcome.facts |= {key: reply[key] for key in known if reply.get(key) is not None}
    if changed := scratch.changed_input():
        raise MemberError(
            "input changed", f"{changed}: is an input that [inputs] declares read_only, and it changed while this member ran"
        )
    _check_reply(plan, reply)
    for name, (size, mtime_ns, inode) in reply.get("outputs", {}).items():
        now = os.stat(os.path.join(directory.path, name))
        if (now.st_size, now.st_mtime_ns, now.st_ino) != (size, mtime_ns, inode):
            raise MemberError("open", f"{name}: this output changed after the member's processes had ended")
        if size == 0 and name in files_read(plan.spec):
            raise MemberError("missing", f"{name}: is empty")
    for name in files_read(plan.spec):
        if directory.is_untouched(name):
            text = f"{name}: the command has not written this output: the file is still the copy from [inputs] directory"
            raise MemberError("missing", text)
    found: list[str] = reply.get("closed", [])
    return found


def _check_reply(plan: Plan, reply: Mapping[str, Any]) -> None:
    """Raises MemberError where the command failed."""
    limits, reason, status = plan.spec.limits, reply["reason"], int(reply.get("status") or 0)
    if reason == "timeout":
        raise MemberError(reason, f"ran longer than [limits] timeout_s = {limits.timeout_s:g}")
    if reason == "memory":
        used = "the kernel ended it" if reply["killed"] else f"used {reply.get('memory_mib') or 0:.0f} MiB"
        raise MemberError(reason, f"{used}, and [limits] memory_mib = {limits.memory_mib}")
    if reason == "left running":
        count = f"{reply['left']} process{'es' if reply['left'] != 1 else ''}"
        raise MemberError(reason, f"{count} still ran {limits.linger_s:g} s after the command had ended, and were killed")
    if reason:
        raise MemberError(reason, reply["message"])
    if status < 0:
        raise MemberError("signal", f"ended by signal {-status}")
    if status > 0:
        raise MemberError("exit", f"exit status {status}")


def _last_lines(path: Path) -> str:
    return "\n".join(tail(path).splitlines()[-TAIL_LINES:])


def _keep(plan: Plan, outcome: Outcome, directory: Path) -> None:
    """Copies outputs to the ensemble's folder. Each copy gets its name only after it was read back and its checksum compared."""
    target = Path(plan.kept) / f"{outcome.member:06d}"
    try:
        target.mkdir(parents=True, exist_ok=True)
        for pattern in plan.spec.keep.files:
            for name in sorted(glob.glob(pattern, root_dir=directory)):
                if (directory / name).is_file():
                    outcome.kept[name] = _copy_checked(directory / name, target / name)
    except OSError as error:
        raise MemberError("keep", f"{error.filename}: {error.strerror}") from None


def _keep_fields(plan: Plan, outcome: Outcome, directory: Path, parameters: dict[str, Value]) -> None:
    """Reads the fields, and writes them to the member's file of fields, which gets its name only after it was read back."""
    from tailrace.ensemble import fields  # with numpy, which most ensembles do not need

    found = fields.read_fields(plan.spec.fields, Path(plan.spec.home), directory, parameters)
    target = fields.path_of(Path(plan.fields), outcome.member)
    beside = target.with_name(f".{target.name}.part")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        fields.write_member(found, beside)
        again = fields.read_member(beside)
        if any(one.values.tobytes() != again[name].values.tobytes() for name, one in found.items()):
            raise MemberError("keep", f"{beside}: reads back different from what was written")
        size, digest = beside.stat().st_size, checksum(beside)
        beside.rename(target)
    except OSError as error:
        raise MemberError("keep", f"{error.filename}: {error.strerror}") from None
    outcome.fields = {"size": size, "checksum": digest, "signature": fields.signature_of(found)}


def _copy_checked(source: Path, target: Path) -> list[Any]:
    target.parent.mkdir(parents=True, exist_ok=True)
    beside = target.with_name(f".{target.name}.part")
    digest, size = hashlib.blake2b(digest_size=8), 0
    with source.open("rb") as file, beside.open("wb") as copy:
        while piece := file.read(PIECE_BYTES):
            digest.update(piece)
            size += len(piece)
            copy.write(piece)
    if checksum(beside) != digest.hexdigest():
        raise MemberError("keep", f"{beside}: reads back different from what was written")
    beside.rename(target)
    return [size, digest.hexdigest()]


def checksum(path: Path) -> str:
    digest = hashlib.blake2b(digest_size=8)
    with path.open("rb") as file:
        while piece := file.read(PIECE_BYTES):
            digest.update(piece)
    return digest.hexdigest()


def _keep_directory(plan: Plan, outcome: Outcome, directory: str) -> None:
    keep = plan.spec.keep.directory
    if keep == "always" or (keep == "failed" and not outcome.ok):
        with contextlib.suppress(OSError, shutil.Error):
            target = Path(plan.kept) / f"{outcome.member:06d}-directory"
            shutil.rmtree(target, ignore_errors=True)
            shutil.copytree(directory, target, symlinks=True)
            outcome.directory = str(target)
