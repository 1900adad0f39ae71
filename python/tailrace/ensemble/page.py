"""The page of an ensemble: index.html in its folder, one file that needs no network. Its size does not grow with the members."""

from __future__ import annotations

import datetime
import heapq
import random
from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tailrace.ensemble.folder import Folder
from tailrace.ensemble.results import PARTS
from tailrace.plain_text import plain
from tailrace.quantities import count_text, seconds_text
from tailrace.report.html_page import write_html
from tailrace.report.svg import Chart, curves, scatter, stacked_bars

FILE = "index.html"
SAMPLED = 1000  # members whose values are in the plots
MOST_PLOTS, MOST_PARAMETERS = 12, 6
SLOWEST = 10
INTERVALS = 120
NAMED_MEMBERS = 12  # of each reason
MOST_LETTERS = 2000  # of a message or a log


class Page:
    """Collects the page's data from the members' lines, one by one. Memory is bounded, except for 16 bytes for each member."""

    def __init__(self) -> None:
        self.ends, self.is_good = array("d"), array("b")
        self.begin = float("inf")
        self.seconds: Counter[str] = Counter()
        self.slowest: list[tuple[float, int, Mapping[str, float]]] = []
        self.sample: list[Mapping[str, Any]] = []
        self.good = 0
        self.numbers: dict[str, list[int]] = {}
        self.choice = random.Random(0)  # the same members each time
        self.hosts: Counter[str] = Counter()

    def take(self, line: Mapping[str, Any]) -> None:
        seconds, facts = line.get("seconds", {}), line.get("facts", {})
        every = sum(seconds.values())
        self.seconds.update(seconds)
        self.hosts[facts.get("host", "")] += 1
        if "begin" in facts:
            self.begin = min(self.begin, facts["begin"])
            self.ends.append(facts["begin"] + every)
            self.is_good.append(not line["reason"])
        slow = (every, -line["member"], seconds)
        (heapq.heappush if len(self.slowest) < SLOWEST else heapq.heappushpop)(self.slowest, slow)
        if line["reason"]:
            named = self.numbers.setdefault(line["reason"], [])
            if len(named) < NAMED_MEMBERS:
                named.append(line["member"])
            return
        self.good += 1
        values = {**line.get("parameters", {}), **line.get("results", {})}
        if len(self.sample) < SAMPLED:
            self.sample.append(values)
        elif (at := self.choice.randrange(self.good)) < SAMPLED:
            self.sample[at] = values

    def write(self, folder: Folder, results: Sequence[str], summary: Mapping[str, Any]) -> Path:
        """Writes beside the file, then renames. Raises OSError."""
        head = folder.heads[-1] if folder.heads else {"name": folder.out.name, "parameters": []}
        plots, text = self._plots(head["parameters"], results)
        values = {
            "headline": f"{head['name']}: {_counts(summary)}",
            "facts": self._facts(folder, summary),
            "failures": [self._failure(one) for one in summary["failures"]],
            "charts": self._charts(),
            "plots": plots,
            "plots_text": text,
        }
        path = folder.out / FILE
        write_html("ensemble.html.j2", values, path)
        return path

    def _facts(self, folder: Folder, summary: Mapping[str, Any]) -> list[tuple[str, str]]:
        found = [("folder", str(folder.out))]
        if folder.heads:
            head = folder.heads[-1]
            times = f", continued {len(folder.heads) - 1} times" if len(folder.heads) > 1 else ""
            found.append(("command", " ".join(head.get("fingerprint", {}).get("command", []))))
            found.append(("started", f"{_date(folder.heads[0]['began'])} by Tailrace {head['tailrace']}{times}"))
            found.append(("engine", f"{head['engine']}, memory limit: {head['memory limit']}"))
        if self.ends:
            duration_s = max(self.ends) - self.begin
            rate = len(self.ends) / max(duration_s, 1e-9)
            found.append(("rate", f"{rate:.3g} members a second over {seconds_text(duration_s)}, with all pauses"))
        hosts = ", ".join(f"{name} ({count})" for name, count in self.hosts.most_common(8) if name)
        return [*found, ("hosts", hosts)] if hosts else found

    def _failure(self, one: Mapping[str, Any]) -> dict[str, Any]:
        numbers = self.numbers.get(one["reason"], [])
        more = " …" if one["members"] > len(numbers) else ""
        example = {key: value[-MOST_LETTERS:] if isinstance(value, str) else value for key, value in one["example"].items()}
        count = f"{count_text(one['members'])} ×"
        return {**one, "members": count, "numbers": ", ".join(map(str, numbers)) + more, "example": example}

    def _charts(self) -> list[Chart]:
        found = []
        if self.ends:
            ends, good = np.asarray(self.ends) - self.begin, np.asarray(self.is_good, bool)
            duration_s = max(float(ends.max()), 1e-6)
            intervals = max(1, min(INTERVALS, len(ends)))
            lines = {
                name: np.histogram(ends[which], intervals, (0.0, duration_s))[0] * intervals / duration_s
                for name, which in (("good", good), ("failed", ~good))
            }
            text = f"Members that ended, a second, in {intervals} intervals of {seconds_text(duration_s / intervals)}."
            found.append(Chart("throughput", "Throughput", text, curves(lines, duration_s)))
        parts = [name for name in PARTS if self.seconds[name] > 0]
        if parts:
            total = sum(self.seconds.values())
            shares = ", ".join(f"{name} {100 * self.seconds[name] / total:.0f} %" for name in parts)
            text = f'Seconds of all members: {shares}. "wait" is for processes and files after the command has ended.'
            found.append(Chart("split", "Where the time went", text, stacked_bars([("all members", self.seconds)], parts)))
            rows = [(f"member {-number}", seconds) for _, number, seconds in sorted(self.slowest, reverse=True)]
            found.append(Chart("slowest", "Slowest members", f"The {len(rows)} that took longest.", stacked_bars(rows, parts)))
        return found

    def _plots(self, parameters: Sequence[str], results: Sequence[str]) -> tuple[list[str], str]:
        """The first parameters against the first results, of good members."""
        numbers = {name: values for name in (*parameters, *results) if (values := self._numbers(name)) is not None}
        plots: list[str] = []
        left_out = 0
        for result in results:
            for place, parameter in enumerate(parameters):
                if result not in numbers or parameter not in numbers:
                    continue
                both = np.isfinite(numbers[parameter]) & np.isfinite(numbers[result])
                if not both.any():
                    continue
                if len(plots) == MOST_PLOTS or place >= MOST_PARAMETERS:
                    left_out += 1
                    continue
                plots.append(scatter(numbers[parameter][both], numbers[result][both], plain(parameter), plain(result)))
        whole = f"all {count_text(self.good)}" if self.good <= SAMPLED else f"a sample of {SAMPLED} of {count_text(self.good)}"
        return plots, f"{whole} good members." + (f" {left_out} further pairs are not shown." if left_out else "")

    def _numbers(self, name: str) -> Any:
        values = [row.get(name) for row in self.sample]
        if not values or not all(isinstance(value, int | float) for value in values):
            return None
        return np.array(values, float)


def _counts(summary: Mapping[str, Any]) -> str:
    members = max(summary["members"], summary["good"] + summary["failed"])
    return f"{members} members: {summary['good']} good, {summary['failed']} failed, {summary['left']} left"


def _date(seconds: float) -> str:
    return f"{datetime.datetime.fromtimestamp(seconds, datetime.UTC):%Y-%m-%d %H:%M:%S} UTC"
