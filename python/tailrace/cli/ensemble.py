"""tailrace ensemble: many runs of a serial program, each in a directory of its own on scratch, and one table at the end."""

from __future__ import annotations

import contextlib
import dataclasses
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from tailrace.cli import output
from tailrace.plain_text import quoted

if TYPE_CHECKING:
    from tailrace.ensemble.ensemble import Ensemble
    from tailrace.ensemble.member import Outcome

group = typer.Typer(
    no_args_is_help=True,
    help="""Many runs of a serial program: inputs from templates, a directory for each member on scratch, one table at the end.

docs/ensembles.md leads from a directory with a working model to a table.

Examples: [bold]tailrace ensemble init model -- ./model input.txt[/] · [bold]tailrace ensemble check ensemble.toml[/] ·
[bold]tailrace ensemble run ensemble.toml[/] · [bold]tailrace ensemble resume ensemble.toml[/]
""",
)
INTERRUPTED = 130
RESULTS = {"table": "members.csv", "fields": "fields.nc", "page": "index.html"}
MOST_FAILURES_SHOWN = 5

TheFile = Annotated[Path, typer.Argument(metavar="FILE", help="The ensemble file (TOML).")]
Out = Annotated[
    Path | None, typer.Option("--out", help="Folder for journal, table and kept files; default NAME-ensemble beside FILE.")
]
Workers = Annotated[
    int | None,
    typer.Option("--workers", min=1, help="Members that run at the same time. Default: `workers` of FILE, or one for each core."),
]
Engine = Annotated[
    str | None, typer.Option("--engine", help="What runs the members: threads, mpi, dask or parsl. Default: the engine of FILE.")
]


@contextlib.contextmanager
def reported(as_json: bool = False) -> Iterator[None]:
    from tailrace.ensemble.values import EnsembleError

    try:
        yield
    except EnsembleError as error:
        output.fail(str(error), as_json)
        raise typer.Exit(2) from None


def opened(file: Path, out: Path | None, workers: int | None = None, engine: str | None = None) -> Ensemble:
    from tailrace.ensemble.ensemble import Ensemble
    from tailrace.ensemble.spec import ENGINES, load_spec
    from tailrace.ensemble.values import EnsembleError

    spec = load_spec(file)
    if engine is not None and engine not in ENGINES:
        raise EnsembleError(f"--engine {engine}: must be one of {', '.join(ENGINES)}")
    chosen = dataclasses.replace(spec.engine, name=engine or spec.engine.name, workers=workers or spec.engine.workers)
    return Ensemble(dataclasses.replace(spec, engine=chosen), out)


@group.command()
def init(
    model: Annotated[Path, typer.Argument(help="The directory in which the model works.")],
    command: Annotated[list[str] | None, typer.Argument(help="The command that runs it there, after --.")] = None,
) -> None:
    """Writes a first ensemble.toml into this folder, from a directory in which a model works.

    Examples: [bold]tailrace ensemble init model -- ./model input.txt[/]
    """
    from tailrace.ensemble.draft import write_draft

    with reported():
        path = write_draft(model, command or [], Path())
    output.console().print(
        output.escape(f"{path}: name parameters and results in it, then: tailrace ensemble check {quoted(path)}")
    )


@group.command()
def check(
    file: TheFile,
    member: Annotated[int, typer.Option("--member", min=0, help="Number of the member, from 0.")] = 0,
    out: Out = None,
    as_json: output.AsJson = False,
) -> None:
    """Runs one member and shows the results read from it. Nothing is journaled. The exit status is 1 if the member failed.

    Examples: [bold]tailrace ensemble check ensemble.toml[/] · [bold]tailrace ensemble check ensemble.toml --member 7[/]
    """
    from tailrace.ensemble.cgroup import prepare

    with reported(as_json):
        ensemble = opened(file, out)
        _note_missing(ensemble, file)
        outcome = ensemble.check(member)
    if as_json:
        output.print_json({**dataclasses.asdict(outcome), "memory_limit": prepare(ensemble.spec.limits)})
    else:
        shown = output.table("", "name", "value")
        for kind, values in (("parameter", outcome.parameters), ("result", outcome.results), ("seconds", outcome.seconds)):
            for name, value in values.items():
                shown.add_row(kind, output.escape(name), output.escape(f"{value:.4f}" if kind == "seconds" else str(value)))
        for name, one in outcome.fields.get("signature", {}).items():
            shape = ", ".join(f"{dim} = {length}" for dim, length in zip(one["dims"], one["shape"], strict=True))
            shown.add_row("field", output.escape(name), output.escape(f"{one['type']} ({shape})"))
        shown.add_row("limit", "memory", prepare(ensemble.spec.limits))
        for name, (size, _) in outcome.kept.items():
            shown.add_row("kept", output.escape(name), output.bytes_text(size))
        output.console().print(shown)
        _print_failure(outcome.member, outcome.reason, outcome.message, outcome.log)
    raise typer.Exit(0 if outcome.ok else 1)


@group.command()
def run(file: TheFile, out: Out = None, workers: Workers = None, engine: Engine = None, as_json: output.AsJson = False) -> None:
    """Runs all members, and writes one table. A member that fails does not stop the others.

    The exit status is 1 if members failed. After an interruption or a crash, `tailrace ensemble resume` runs what is missing.

    Examples: [bold]tailrace ensemble run ensemble.toml[/] · [bold]tailrace ensemble run ensemble.toml --workers 8[/]
    """
    _run(file, out, workers, engine, as_json)


@group.command()
def resume(
    file: TheFile,
    out: Out = None,
    workers: Workers = None,
    engine: Engine = None,
    rerun_failed: Annotated[bool, typer.Option("--rerun-failed", help="Also runs the failed members again.")] = False,
    rerun_changed: Annotated[
        bool, typer.Option("--rerun-changed", help="FILE or its inputs have changed: runs the members that this affects again.")
    ] = False,
    as_json: output.AsJson = False,
) -> None:
    """Runs the members that have no outcome yet. If FILE or an input has changed, it refuses and shows the difference.

    A member whose own parameters have changed runs again in any case.

    Examples: [bold]tailrace ensemble resume ensemble.toml[/] · [bold]tailrace ensemble resume ensemble.toml --rerun-failed[/]
    """
    _run(file, out, workers, engine, as_json, resume=True, rerun_failed=rerun_failed, rerun_changed=rerun_changed)


def _run(file: Path, out: Path | None, workers: int | None, engine: str | None, as_json: bool, **how: bool) -> None:
    with reported(as_json):
        ensemble = opened(file, out, workers, engine)
        left = ensemble.left()
        _note_missing(ensemble, file)
        console = output.error_console()
        columns = TextColumn("[bold]{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[about]}")
        with Progress(*columns, console=console) as progress:
            task = progress.add_task(output.escape(ensemble.spec.name), total=left, about="")
            counts = {"done": 0, "failed": 0}
            began = time.monotonic()

            def finished(outcome: Outcome) -> None:
                counts["done"] += 1
                if not outcome.ok:
                    counts["failed"] += 1
                    if counts["failed"] <= MOST_FAILURES_SHOWN:
                        text = f"member {outcome.member}: {outcome.reason}: {outcome.message}"
                        console.print(f"[red]failed:[/] {output.escape(text)}", soft_wrap=True)
                rate = counts["done"] / max(time.monotonic() - began, 1e-9)
                about = f"{rate:.1f}/s, {max(left - counts['done'], 0) / rate:.0f} s left, {counts['failed']} failed"
                progress.update(task, completed=counts["done"], about=about)

            try:
                summary = ensemble.run(finished, **how)
            except KeyboardInterrupt:
                console.print(output.escape(f"interrupted; continue with: tailrace ensemble resume {quoted(file)}"))
                raise typer.Exit(INTERRUPTED) from None
    _print_written(ensemble, file, summary, as_json)
    raise typer.Exit(1 if summary["failed"] else 0)


@group.command()
def status(file: TheFile, out: Out = None, as_json: output.AsJson = False) -> None:
    """Shows the progress of an ensemble, also while it runs: members by outcome, rate, and failures by reason.

    Examples: [bold]tailrace ensemble status ensemble.toml[/] · [bold]tailrace ensemble status ensemble.toml --json[/]
    """
    from tailrace.ensemble.folder import is_locked
    from tailrace.ensemble.results import summary

    with reported(as_json):
        folder = opened(file, out).folder
        running = folder.out.is_dir() and is_locked(folder.out)
        found: dict[str, Any] = {"running": running, **summary(folder.read())}
        found["memory_limit"] = str(folder.heads[-1].get("memory limit", "none")) if folder.heads else "none"
    if as_json:
        output.print_json(found)
        return
    output.console().print("running" if running else "not running")
    if found["memory_limit"] != "none":
        output.console().print(output.escape(f"memory limit of a member: {output.plain(found['memory_limit'])}"))
    _print_summary(found)


@group.command()
def report(file: TheFile, out: Out = None, as_json: output.AsJson = False) -> None:
    """Writes tables, page and file of fields again from the journal. Runs no member.

    If members are left, as after an interruption, the tables have only the members that have ended.

    Examples: [bold]tailrace ensemble report ensemble.toml[/] · [bold]tailrace ensemble report ensemble.toml --out NAME-ensemble[/]
    """
    with reported(as_json):
        summary = (ensemble := opened(file, out)).report()
    _print_written(ensemble, file, summary, as_json)


def _note_missing(ensemble: Ensemble, file: Path) -> None:
    """Says before the first member which files the end will not have."""
    from tailrace.ensemble.packages import files_without_package

    if text := _missing_text(files_without_package(ensemble.spec), "will not be written", ensemble, file):
        output.error_console().print(output.escape(f"note: {text}"), soft_wrap=True)


def _missing_text(files: dict[str, str], what: str, ensemble: Ensemble, file: Path) -> str:
    if not files:
        return ""
    from tailrace.extras import install_command

    packages = ", ".join(dict.fromkeys(files.values()))
    commands = " and ".join(dict.fromkeys(install_command(package, "ensemble") for package in files.values()))
    later = f"tailrace ensemble report {quoted(file)}"
    if ensemble.folder.out != Path(ensemble.spec.home) / f"{ensemble.spec.name}-ensemble":
        later += f" --out {quoted(ensemble.folder.out)}"
    return f"{', '.join(files)} {what}, because {packages} cannot be imported: {commands}, then `{later}`"


def _print_written(ensemble: Ensemble, file: Path, summary: dict[str, Any], as_json: bool) -> None:
    """The summary, where tables and page are, and what could not be written."""
    folder = ensemble.folder.out
    if as_json:
        there = {what: str(folder / name) if (folder / name).exists() else None for what, name in RESULTS.items()}
        output.print_json({"out": str(folder), **there, **summary})
        return
    _print_summary(summary)
    for what, name in RESULTS.items():
        if (folder / name).exists():
            output.console().print(output.escape(f"{what}: {folder / name}"), soft_wrap=True)
    if text := _missing_text(summary["not_written"], "not written", ensemble, file):
        output.console().print(output.escape(text), soft_wrap=True)


def _print_summary(summary: dict[str, Any]) -> None:
    console = output.console()
    counts = f"{summary['good']} good, {summary['failed']} failed, {summary['left']} left"
    console.print(f"[bold]{summary['members']} members: {counts}[/]")
    total = sum(summary["seconds"].values()) or 1.0
    parts = ", ".join(f"{name} {100 * spent / total:.0f} %" for name, spent in summary["seconds"].items())
    console.print(f"time of the members: {parts}")
    for failure in summary["failures"]:
        example = failure["example"]
        console.print()
        console.print(output.escape(f"{failure['members']} × {failure['reason']}: {failure['meaning']}"), soft_wrap=True)
        _print_failure(example["member"], failure["reason"], example["message"], example["log"])
    for one in summary["differing"]:
        more = ", ..." if one["members"] > len(one["first"]) else ""
        numbers = ", ".join(map(str, one["first"]))
        text = f"{one['message']}: member{'s' if one['members'] > 1 else ''} {numbers}{more}"
        console.print(output.escape(output.plain(text)), soft_wrap=True)


def _print_failure(member: int, reason: str, message: str, log: str) -> None:
    if reason:
        console = output.console()
        console.print(f"[red]member {member}:[/] {output.escape(f'{reason}: {message}')}", soft_wrap=True)
        for line in log.splitlines():
            console.print(f"    {output.escape(output.plain(line))}", soft_wrap=True)
