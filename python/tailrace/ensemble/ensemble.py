"""The class `Ensemble`: run, resume, check, and calls for optimisers."""

from __future__ import annotations

import contextlib
import dataclasses
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tailrace.ensemble import engines, folder, results
from tailrace.ensemble.cgroup import prepare
from tailrace.ensemble.member import Outcome, Plan
from tailrace.ensemble.packages import files_without_package, look_for_packages
from tailrace.ensemble.parameters import ParameterTable, load_parameters
from tailrace.ensemble.readings import result_names
from tailrace.ensemble.runner import run_members
from tailrace.ensemble.scratch import close_scratch, input_files
from tailrace.ensemble.spec import load_spec
from tailrace.ensemble.templates import parse_text, read_template
from tailrace.ensemble.values import EnsembleError, MemberError, Spec, Value
from tailrace.ensemble.workers import run_member
from tailrace.journal import JournalWriter

FAILED_CHOICES = ("nan", "raise")


class Ensemble:
    """An ensemble file with its folder. Raises EnsembleError for what the user can correct.

    ensemble = Ensemble("ensemble.toml")
    ensemble.run()                  # all members of [parameters]; `resume` runs what is missing
    values = ensemble.map(points)   # a result for each point, in order; also `workers=ensemble.map` of scipy.optimize
    """

    def __init__(
        self,
        spec: Spec | Path | str,
        out: Path | str | None = None,
        *,
        result: str | None = None,
        failed: str | float = "nan",
        names: Sequence[str] | None = None,
    ) -> None:
        """`result`: the name of the result that calls return; None: the first. `failed`: what a call returns for a failed member:
        "nan" or a number; with "raise", it raises MemberError. `names`: the parameters in the order of a point's elements; None:
        the order of the ensemble file."""
        self.spec = spec if isinstance(spec, Spec) else load_spec(spec)
        home = Path(self.spec.home)
        self.folder = folder.Folder(Path(out) if out is not None else home / f"{self.spec.name}-ensemble")
        self.names = tuple(names) if names is not None else ()
        self._table: ParameterTable | None = None
        self.result_names = result_names(self.spec.readings, home)
        if result is not None and result not in self.result_names:
            raise EnsembleError(f"result '{result}': the ensemble file has {', '.join(self.result_names) or 'no results'}")
        self.result = result or (self.result_names[0] if self.result_names else "")
        if isinstance(failed, str) and failed not in FAILED_CHOICES:
            raise EnsembleError(f"failed = '{failed}': must be nan, raise or a number")
        self.failed = failed
        self._calls: _Calls | None = None
        self._lock = threading.Lock()

    @property
    def table(self) -> ParameterTable:
        if self._table is None:
            look_for_packages(self.spec)
            self._table = load_parameters(self.spec.parameters, Path(self.spec.home))
        return self._table

    def plan(self, names: Sequence[str] | None = None) -> Plan:
        """Reads and checks what all members have in common: templates, command, inputs. Raises EnsembleError."""
        spec, home = self.spec, Path(self.spec.home)
        look_for_packages(spec, draws=not names)
        prepare(spec.limits)
        names = tuple(names or self.names or self.table.names)
        templates = tuple((one.target, read_template(home / one.source, names, one.marks, one.target)) for one in spec.templates)
        command = tuple(parse_text(word, names, "command") for word in spec.command)
        environment = tuple((name, parse_text(text, names, f"[environment] {name}")) for name, text in spec.environment)
        texts = [*(text for _, text in templates), *command, *(text for _, text in environment)]
        used = {name for text in texts for name in text.names}
        for name in names:
            if name not in used:
                raise EnsembleError(
                    f"parameter '{name}' is in no template, command or environment: write {{{name}}} where its value belongs"
                )
        from_templates = {target for target, _ in templates}
        files = tuple(file for file in input_files(spec.inputs, home) if file.target not in from_templates)
        kept, fields = str(self.folder.kept.absolute()), str(self.folder.fields.absolute())
        return Plan(spec, self.folder.run, kept, files, templates, command, environment, fields)

    def check(self, member: int = 0) -> Outcome:
        """Runs one member, journals nothing, and returns its outcome."""
        if not 0 <= member < self.table.members:
            raise EnsembleError(f"member {member}: the ensemble has members 0 to {self.table.members - 1}")
        checked = self.folder.out.absolute() / "check"
        plan = dataclasses.replace(self.plan(), run=f"check-{self.folder.run}", kept=str(checked), fields=str(checked / "fields"))
        try:
            return run_member(plan, member, self.table.row(member))
        finally:
            close_scratch(self.spec.engine.scratch, plan.run)

    def run(
        self,
        progress: Callable[[Outcome], None] | None = None,
        *,
        resume: bool = False,
        rerun_changed: bool = False,
        rerun_failed: bool = False,
        most: int | None = None,
    ) -> dict[str, Any]:
        """Runs the members that have no outcome yet, and writes the table. `most`: the largest number to run; None: all. Returns
        the summary."""
        with folder.alone_in(self.folder.out):
            self.folder.read()
            if self.folder.heads and not resume:
                raise EnsembleError(f"{self.folder.out}: has results already: `tailrace ensemble resume` runs the missing members")
            plan = self.plan()
            print_now = folder.fingerprint(self.spec)
            self._refuse_changed(print_now, rerun_changed)
            of_all = folder.hash_of(print_now)
            with JournalWriter(self.folder.journal) as writer:
                folder.append_head(writer, self.folder, folder.head_line(self.spec, plan.run, self.table, print_now))
                writer.sync()

                def finished(outcome: Outcome) -> None:
                    folder.append_outcome(writer, self.folder, outcome, folder.identity(of_all, outcome.parameters))
                    if progress is not None:
                        progress(outcome)

                try:
                    run_members(plan, self._left(of_all, rerun_failed, most), finished)
                finally:
                    close_scratch(self.spec.engine.scratch, plan.run)
            return self.write_results()

    def _refuse_changed(self, print_now: dict[str, Any], rerun_changed: bool) -> None:
        if not self.folder.heads or rerun_changed:
            return
        found = folder.differences(self.folder.heads[-1]["fingerprint"], print_now)
        if found:
            raise EnsembleError(
                f"{self.folder.out}: the ensemble has changed since its members ran: {'; '.join(found)}. "
                "Undo that, give another folder with --out, or run again what it touches with --rerun-changed"
            )

    def _left(self, of_all: str, rerun_failed: bool, most: int | None) -> Iterator[tuple[int, dict[str, Value]]]:
        """Yields the members that must run: those without an outcome, and those whose settings or parameters have changed."""
        count = 0
        failed = self.folder.failed | self.folder.majority().differing if rerun_failed else ()
        for member in range(self.table.members):
            parameters = self.table.row(member)
            same = self.folder.identities.get(member) == int(folder.identity(of_all, parameters), 16)
            same = same and self.folder.has_fields(member, self.spec)
            if same and member not in failed:
                continue
            if most is not None and count >= most:
                return
            count += 1
            yield member, parameters

    def left(self) -> int:
        """How many members have no outcome yet."""
        self.folder.read()
        of_all = folder.hash_of(folder.fingerprint(self.spec))
        return sum(1 for _ in self._left(of_all, rerun_failed=False, most=None))

    def report(self) -> dict[str, Any]:
        """Writes tables, page and file of fields anew. Raises EnsembleError where nothing has run, or an ensemble is running."""
        if not self.folder.journal.exists():
            raise EnsembleError(f"{self.folder.out}: no ensemble has run in this folder: `tailrace ensemble run` begins one")
        with folder.alone_in(self.folder.out):
            self.folder.read()
            return self.write_results()

    def write_results(self) -> dict[str, Any]:
        """The tables of the folder, its page and the file of fields, from the journal. Returns the summary, whose `not_written` has
        the files that need a package which is not installed, each with its package. An earlier file of that name is removed: its
        rows would not be those of members.csv."""
        without = files_without_package(self.spec)
        for name in without:
            (self.folder.out / name).unlink(missing_ok=True)
        if "index.html" in without:
            summary = results.write_tables(self.folder, self.result_names, without=without)
        else:
            from tailrace.ensemble.page import Page

            page = Page()
            summary = results.write_tables(self.folder, self.result_names, page.take, without=without)
            page.write(self.folder, self.result_names, summary)
        if self.spec.fields and summary["good"] and "fields.nc" not in without:
            from tailrace.ensemble.gathering import gather

            gather(self.folder.out)
        return {**summary, "not_written": without}

    # ---- calls: a member for each point --------------------------------------------------------------------------------------

    def __call__(self, point: Any) -> float:
        """The result of one member with these parameters: a sequence in the order of `names`, or a mapping. Thread-safe."""
        return self._value(self.outcome(point))

    def outcome(self, point: Any) -> Outcome:
        """The whole outcome of one member with these parameters."""
        with self._lock:
            if self._calls is None:
                self._calls = _Calls(self)
            calls = self._calls
        return calls.run(point)

    def map(self, function: Any, points: Iterable[Any] | None = None) -> list[Any]:
        """`map(points)` returns the result of a member for each point. `map(function, points)` returns function(point) for each
        point, in order; the function may call this ensemble. `workers=` of scipy.optimize takes this method."""
        function, points = (self, function) if points is None else (function, points)
        found = list(points)
        if not found:
            return []
        # These threads only wait for members. They are not the engine's: otherwise a function that calls `map` again would wait
        # forever for a free thread.
        with ThreadPoolExecutor(min(len(found), engines.IN_FLIGHT_CALLS * engines.workers_of(self.spec.engine))) as pool:
            return list(pool.map(function, found))

    def _value(self, outcome: Outcome) -> float:
        if outcome.ok:
            value = outcome.results.get(self.result, float("nan"))
            return float(value)
        if self.failed == "raise":
            raise MemberError(outcome.reason, f"member {outcome.member}: {outcome.message}")
        return float(self.failed)

    def close(self) -> None:
        """Ends the engine of calls, and writes the table of the members that they made."""
        with self._lock:
            calls, self._calls = self._calls, None
        if calls is not None:
            calls.close()
            self.write_results()

    def __enter__(self) -> Ensemble:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class _Calls:
    """The engine and the journal while points are evaluated."""

    def __init__(self, ensemble: Ensemble) -> None:
        names = ensemble.names or tuple(one.name for one in ensemble.spec.parameters.ranges) or ensemble.table.names
        self.names = names
        self.folder = ensemble.folder
        with contextlib.ExitStack() as opened:
            opened.enter_context(folder.alone_in(self.folder.out))
            self.folder.read()
            self.plan = ensemble.plan(names)
            opened.callback(close_scratch, self.plan.spec.engine.scratch, self.plan.run)
            print_now = folder.fingerprint(ensemble.spec)
            self.of_all = folder.hash_of(print_now)
            self.next = max(self.folder.finished, default=-1) + 1
            self.writer = JournalWriter(self.folder.journal)
            opened.callback(self.writer.close)
            self.executor = opened.enter_context(
                engines.open_engine(ensemble.spec.engine, engines.Where(ensemble.folder.out, self.plan.run))
            )
            table = ParameterTable(dict.fromkeys(names), 0)  # type: ignore[arg-type]
            folder.append_head(self.writer, self.folder, folder.head_line(ensemble.spec, self.plan.run, table, print_now))
            self.opened = opened.pop_all()  # closed by close(); where anything above fails, it is closed at once
        self.lock = threading.Lock()

    def run(self, point: Any) -> Outcome:
        parameters = self._parameters(point)
        with self.lock:
            member = self.next
            self.next += 1
        outcome = self.executor.submit(run_member, self.plan, member, parameters).result()
        with self.lock:
            folder.append_outcome(self.writer, self.folder, outcome, folder.identity(self.of_all, parameters))
        return outcome

    def _parameters(self, point: Any) -> dict[str, Value]:
        if isinstance(point, dict):
            values = dict(point)
        else:
            elements = [value.item() if hasattr(value, "item") else value for value in point]
            if len(elements) != len(self.names):
                raise EnsembleError(f"a point has {len(elements)} elements, and the parameters are {', '.join(self.names)}")
            values = dict(zip(self.names, elements, strict=True))
        if set(values) != set(self.names):
            raise EnsembleError(f"a point names {', '.join(map(str, values))}, and the parameters are {', '.join(self.names)}")
        return values

    def close(self) -> None:
        self.opened.close()
