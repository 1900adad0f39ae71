"""tailrace study: runs a matrix of settings in turn, measures each run and verifies every output."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn

from tailrace.cli import output
from tailrace.cli.plain_console import PlainConsole
from tailrace.plain_text import quoted
from tailrace.report import table, wording
from tailrace.results.comparison import judge, summarize
from tailrace.results.runs import Case, RunResult
from tailrace.study import runner
from tailrace.study.command import run_command, shown_path
from tailrace.study.folder import Study, alone_in, open_study
from tailrace.study.plan import remaining_s
from tailrace.study.spec import load_study
from tailrace.study.values import StudyError

INTERRUPTED = 130  # the exit status of shells after SIGINT


def command(
    file: Annotated[Path, typer.Argument(help="The study file (TOML); docs/studies.md lists its keys.")],
    out: Annotated[Path | None, typer.Option("--out", help="Folder for results and page; default build/studies/NAME.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the runs in their order, and run nothing.")] = False,
    as_json: output.AsJson = False,
) -> None:
    """Runs a study, or continues one that was stopped; prints a table and writes one HTML page.

    Each finished run is a line of results.jsonl in the folder. Stopping loses at most the current run.

    Examples: [bold]tailrace study studies/olam.toml[/] · [bold]tailrace study studies/olam.toml --dry-run[/]
    """
    raise typer.Exit(run_study(file, out, as_json, dry_run))


def run_study(file: Path, out: Path | None, as_json: bool = False, dry_run: bool = False) -> int:
    """Returns the exit status: 0, 1 when runs failed, 2 for errors that the user can correct, 130 when interrupted."""
    try:
        spec = load_study(file)
        folder = out or build_folder() / "studies" / spec.name
        if dry_run:
            return _show_plan(open_study(spec, folder), as_json)
        with alone_in(folder):
            study = open_study(spec, folder)
            with Display(study, output.error_console()) as display:
                runner.run_study(study, build_folder(), display.started, display.finished)
    except StudyError as error:
        output.fail(str(error), as_json)
        return 2
    except KeyboardInterrupt:
        again = f"tailrace study {quoted(file)}" + (f" --out {quoted(out)}" if out else "")
        output.fail(f"interrupted; finished runs are kept. Continue with: {again}")
        return INTERRUPTED
    page = study.out / "report.html"
    from tailrace.report.page import write_page  # its libraries take longer to import than most commands take

    write_page(study.for_report(), page)
    _show_results(study, page, as_json)
    return 1 if any(not result.ok for result in study.results) else 0


def build_folder() -> Path:
    """The folder `build` of the source tree; if the package is installed, `build` in the working directory."""
    for folder in Path(__file__).resolve().parents:
        if (folder / "kernels").is_dir() and (folder / "CMakeLists.txt").is_file():
            return folder / "build"
    return Path.cwd() / "build"


@dataclass
class Display:
    """The progress bar with an estimate of the remaining time. Failed runs appear above it at once."""

    study: Study
    console: PlainConsole
    spent_s: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))

    def __enter__(self) -> Display:
        columns = TextColumn("[bold]{task.fields[name]}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}")
        self.progress = Progress(*columns, console=self.console)
        total = len(self.study.cases)
        self.task: TaskID = self.progress.add_task(
            "", total=total, completed=total - len(self.study.left), name=output.escape(self.study.spec.name)
        )
        for result in self.study.results:
            self.spent_s[result.case.setting.key].append(result.times.wall_s)
        self.progress.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.progress.stop()

    def started(self, case: Case) -> None:
        left_s = remaining_s(self.study.left, self.spent_s)
        eta = "" if left_s is None else f"about {left_s // 60:.0f}:{left_s % 60:02.0f} left   "
        warm_up = " (warm-up)" if case.warm_up else ""
        now = f"{eta}{case.layout.name}, {case.ranks} ranks{warm_up}"
        self.progress.update(self.task, description=output.escape(now))
        self.start_s = perf_counter()

    def finished(self, result: RunResult) -> None:
        self.spent_s[result.case.setting.key].append(perf_counter() - self.start_s)
        if not result.ok:
            table.print_failures(self.progress.console, [result])
        self.progress.advance(self.task)


def _show_plan(study: Study, as_json: bool) -> int:
    runner.check_layouts(study.spec)
    finished = {result.case.key for result in study.results}
    rows = []
    for position, case in enumerate(study.cases, 1):
        words = run_command(study.spec, case, runner.places_of(study, case, build_folder(), "INPUT"))
        state = "finished" if case.key in finished else "warm-up" if case.warm_up else "to run"
        rows.append({"run": position, **case.to_json(), "state": state, "command": words})
    if as_json:
        output.print_json({"study": study.spec.name, "out": str(study.out), "runs": rows})
        return 0
    shown = output.table("run", "layout", "ranks", "target", "parameters", "round", "", numbers=("run", "ranks", "round"))
    for row in rows:
        parameters = ", ".join(f"{name}={value}" for name, value in row["parameters"].items())
        cells = (row["run"], row["layout"], row["ranks"], row["target"] or "here", parameters, row["repetition"], row["state"])
        shown.add_row(*(output.escape(str(cell)) for cell in cells))
    console = output.console()
    console.print(shown)
    console.print(f"{len(study.left)} runs to make; results in {output.plain(shown_path(study.out))}", markup=False)
    return 0


def _show_results(study: Study, page: Path, as_json: bool) -> None:
    groups = summarize(study.measured)
    verdict = judge(groups, study.spec.compare)
    what, lines = wording.selection(verdict)
    failures = [result for result in study.results if not result.ok]
    if as_json:
        output.print_json(results_json(study, page))
        return
    console = output.console()
    console.print()
    table.print_table(console, study.spec.application.name, groups)
    if failures:
        console.print(f"[bold red]{len(failures)} failed run(s), not part of any number above:[/]")
        table.print_failures(console, failures)
        console.print()
    console.print(f"[bold]{output.escape(wording.headline(verdict))}[/]")
    if wording.level_text(verdict):
        console.print(wording.level_text(verdict), markup=False)
    if lines:
        console.print(f"\n{what}\n", markup=False)
        console.print(lines, markup=False)
    console.print(f"Page:    {output.plain(shown_path(page))}", markup=False)
    console.print(f"Results: {output.plain(shown_path(study.journal))}", markup=False)
    recorded = [result for result in study.measured if result.trace]
    if recorded:
        folder = study.out / recorded[0].trace
        shown = f"{shown_path(folder.parent)}; `tailrace trace phases {quoted(shown_path(folder))}` shows one"
        console.print(output.plain(f"Traces:  {shown}"), markup=False, soft_wrap=True)


def results_json(study: Study, page: Path) -> dict[str, Any]:
    groups = summarize(study.measured)
    verdict = judge(groups, study.spec.compare)
    settings = []
    for group in groups:
        for summary in group.summaries:
            spreads = {name: summary.spread(name) for name in wording.MEASURE_NAMES}
            times = {f"{name}_s": vars(spread) if spread else None for name, spread in spreads.items()}
            counts = {"runs": len(summary.runs), "failed": summary.failed, "bytes": summary.bytes, "files": summary.files}
            phases = [vars(phase) for phase in summary.phases]
            settings.append({**summary.case.to_json(), **counts, **times, "phases": phases})
            del settings[-1]["repetition"]
    winner: dict[str, Any] | None = None
    if verdict is not None:
        ratio = vars(verdict.ratio) if verdict.ratio.low > 0 else {"value": verdict.ratio.value, "low": None, "high": None}
        winner = {"layout": verdict.winner.name, "against": verdict.base.name, "measure": verdict.measure, "ratio": ratio}
        winner |= {"differs": verdict.ratio.differs, "level": list(verdict.level)}
    failed = [result.to_json() for result in study.results if not result.ok]
    return json.loads(
        json.dumps(
            {
                "study": study.spec.name,
                "winner": winner,
                "headline": wording.headline(verdict),
                "configuration": wording.selection(verdict)[1],
                "settings": settings,
                "failed": failed,
                "page": str(page),
                "results": str(study.journal),
            }
        )
    )
