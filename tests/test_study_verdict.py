"""Reports of a study's results: verdicts, ratios, times, tables."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from tailrace.quantities import seconds_text
from tailrace.report import table, wording
from tailrace.report.bars import LEFT, colours_of
from tailrace.report.page import write_page
from tailrace.results.comparison import judge, ratio_between, summarize
from tailrace.results.runs import FAILED, OK, Case, LayoutChoice, Phase, RunResult, Times
from tailrace.results.study import StudyResults, StudySettings
from tailrace.study.plan import cases_left, stopped_layouts

pytestmark = pytest.mark.fast


def made(layout: str, times_s: list[float], ranks: int = 2, status: str = OK) -> list[RunResult]:
    choice = LayoutChoice(layout, (("layout", f'"{layout}"'),) if layout != "native" else ())
    cases = [Case("fake", ranks, choice, "", (), number) for number in range(1, len(times_s) + 1)]
    return [RunResult(case, status, "", Times(wall_s=1.0, return_s=t, fsync_s=0.1)) for case, t in zip(cases, times_s, strict=True)]


def test_a_clear_winner_and_what_cannot_be_told_from_it() -> None:
    native = [2.0, 2.1, 1.9, 2.2, 1.8]
    noisy = [0.6, 1.6, 1.0, 1.2, 0.8]
    groups = summarize([*made("native", native), *made("fpp", [t / 2 for t in native]), *made("hds", noisy)])
    verdict = judge(groups, "return")
    assert verdict is not None
    assert verdict.winner.name == "fpp"
    assert verdict.ratio.value == pytest.approx(2.0)
    assert verdict.ratio.differs
    assert verdict.level == ("hds",)
    assert wording.headline(verdict).startswith("'fpp' wins: time to return 2.00× as fast as 'native'")
    assert wording.selection(verdict)[1] == '[stream.default]\nlayout = "fpp"\n'


def test_an_interval_with_1_in_it_is_no_measurable_difference() -> None:
    groups = summarize([*made("native", [1.0, 2.0, 3.0, 1.5, 2.5]), *made("fpp", [2.4, 1.1, 1.9, 2.9, 1.4])])
    verdict = judge(groups, "return")
    assert verdict is not None
    assert not verdict.ratio.differs
    assert wording.headline(verdict).startswith("Undecided: keep what you have. By time to return, 'fpp' was")


def test_noise_that_all_layouts_share_in_a_round_does_not_hide_a_difference() -> None:
    drift = [1.0, 4.0, 2.0, 8.0, 3.0, 6.0, 5.0]
    groups = summarize([*made("native", drift), *made("fpp", [t * 0.8 for t in drift])])
    native, fpp = groups[0].of("native"), groups[0].of("fpp")
    assert native is not None
    assert fpp is not None
    ratio = ratio_between(native, fpp, "return")
    assert ratio is not None
    assert (ratio.low, ratio.value, ratio.high) == pytest.approx((1.25, 1.25, 1.25))


def test_when_native_wins_the_nearest_is_named_with_its_distance() -> None:
    native = [1.0, 1.1, 0.9, 1.0, 1.05]
    slower = {"hds": [2 * t for t in native], "fpp": [4 * t for t in native]}
    groups = summarize([*made("native", native), *(run for name, times in slower.items() for run in made(name, times))])
    verdict = judge(groups, "return")
    assert verdict is not None
    assert verdict.winner.name == "native"
    assert "The nearest, 'hds', is 0.50× as fast" in wording.headline(verdict)
    assert 'layout = "hds"' in wording.selection(verdict)[1]


def test_a_layout_with_a_failed_run_cannot_win_and_few_runs_have_no_interval() -> None:
    good, fast = made("native", [1.0, 1.0]), made("fpp", [0.1, 0.1])
    verdict = judge(summarize([*good, *fast]), "return")
    assert verdict is not None
    assert not verdict.ratio.differs
    assert "too few repetitions" in wording.headline(verdict)
    failed = made("fpp", [0.1], ranks=4, status=FAILED)
    verdict = judge(summarize([*good, *fast, *made("native", [1.0], ranks=4), *failed]), "return")
    assert verdict is not None
    assert verdict.winner.name == "native"


def test_results_survive_the_journal() -> None:
    result = made("fpp", [0.5])[0]
    assert RunResult.from_json(json.loads(json.dumps(result.to_json()))) == result


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.99996, "1000 ms"), (1.0, "1.00 s"), (12.34, "12.3 s"), (345.6, "346 s"), (5e-5, "50 µs")]
)
def test_times_have_three_figures(seconds: float, text: str) -> None:
    assert seconds_text(seconds) == text


def test_what_a_program_said_is_found_between_banners() -> None:
    stderr = "bad value\nbad value\n#0  0x7fa in ???\n-----\nmpirun detected\n-----\nand more"
    assert wording.program_lines(stderr) == ["bad value", "and more"]
    cut = f"the end of a banner\n-----\n{stderr}"
    assert wording.program_lines(cut) == ["the end of a banner", "bad value", "mpirun detected", "and more"]


def test_what_took_no_time_wins() -> None:
    times = {"native": [1.0] * 5, "one": [0.9] * 5, "fpp": [0.0] * 5}
    verdict = judge(summarize([result for name, seconds in times.items() for result in made(name, seconds)]), "return")
    assert verdict is not None
    assert (verdict.winner.name, verdict.ratio.differs) == ("fpp", True)


def test_names_may_look_like_markup(capsys: pytest.CaptureFixture[str]) -> None:
    results = [dataclasses.replace(run, phases=(Phase("f[/abi:cxx11]", 1.0, 0.0),)) for run in made("fpp", [1.0])]
    results = [dataclasses.replace(run, case=dataclasses.replace(run.case, target="/scratch/[/tmp]")) for run in results]
    groups = summarize([*results, *made("fpp", [1.0])])
    table.print_table(Console(width=200), "fake", groups)
    shown = capsys.readouterr().out
    assert "/scratch/[/tmp]" in shown
    assert "f[/abi:cxx11]" in shown


def test_presets_have_the_same_colour_in_every_study() -> None:
    names = [["native", "fpp", "mine", "hds"], ["hds", "other", "native"]]
    first, second = map(colours_of, names)
    assert first["hds"] == second["hds"]
    assert first["native"] == second["native"]
    assert len(set(first.values())) == 4


def study_of(results: list[RunResult], **more: Any) -> StudyResults:
    settings = StudySettings("s", "A </script> & title", "fake", "", "return", (1, 2), 1, 5, 0, ((),), False, False)
    machine = {"processor": "p", "cores": 2, "memory_bytes": 1, "file_systems": {}, "kernel": "k", "system": "s", "versions": {}}
    return StudyResults(settings, machine, tuple(results), tuple(results), len(results), 0, **more)


def page_of(tmp_path: Path, results: list[RunResult], **more: Any) -> str:
    write_page(study_of(results, **more), tmp_path / "page.html")
    return (tmp_path / "page.html").read_text()


def test_page_is_small_and_has_no_script(tmp_path: Path) -> None:
    page = page_of(tmp_path, [*made("native", [2.0] * 5), *made("fpp", [1.0] * 5)])
    assert not re.search(r"<script|https?://|src=|@import", page)
    assert len(page) < 100_000
    assert "A &lt;/script&gt; &amp; title" in page


def test_page_has_a_bar_for_each_layout_and_a_point_for_each_run(tmp_path: Path) -> None:
    times = {"native": [2.0, 2.5, 2.25, 2.125, 2.375], "fpp": [1.0, 1.5, 1.25, 1.125, 1.375]}
    page = page_of(tmp_path, [run for name, seconds in times.items() for run in made(name, seconds)])
    figure = page[page.index('<figure id="layouts">') :].partition("</figure>")[0]
    centers = [float(x) for x in re.findall(r'<circle class="point" cx="([0-9.]+)"', figure)]
    scale = (centers[0] - LEFT) / 2.0
    assert centers == pytest.approx([LEFT + scale * t for seconds in times.values() for t in seconds], abs=0.1)
    widths = [float(width) for width in re.findall(r'<rect [^>]*width="([0-9.]+)"', figure)]
    assert widths == pytest.approx([scale * 2.25, scale * 1.25], abs=0.1)
    assert "0 B, 0 files" in figure


def test_speed_up_needs_three_rank_counts(tmp_path: Path) -> None:
    runs = [run for ranks in (1, 2) for run in made("native", [1.0], ranks)]
    assert 'id="speed-up"' not in page_of(tmp_path, runs)
    assert 'id="speed-up"' in page_of(tmp_path, [*runs, *made("native", [1.0], 4)])


def test_a_time_that_was_not_measured_has_no_bar(tmp_path: Path) -> None:
    page = page_of(tmp_path, made("native", [1.0]))
    figure = page[page.index('<figure id="times">') :].partition("</figure>")[0]
    assert "native: durable" in figure
    assert "readable" not in figure.partition("<svg")[2]


def test_failures_of_a_layout_are_one_entry() -> None:
    runs = [run for ranks in (1, 2, 4) for run in made("fpp", [1.0, 1.0], ranks, FAILED)]
    (failures,) = wording.gather_failures(runs)
    assert failures.count == 6


def test_a_layout_without_a_sound_warm_up_is_stopped(tmp_path: Path) -> None:
    cases = [dataclasses.replace(run.case, repetition=0) for ranks in (1, 2) for run in made("fpp", [1.0], ranks)]
    failed = [RunResult(case, FAILED, "", Times(wall_s=1.0)) for case in cases]
    assert stopped_layouts(cases, failed) == ["fpp"]
    assert stopped_layouts(cases, failed[:1]) == [], "the round is not at its end"
    assert stopped_layouts(cases, [failed[0], dataclasses.replace(failed[1], status=OK)]) == []
    assert cases_left(cases, [], ["fpp"]) == []
    page = page_of(tmp_path, made("native", [1.0]), stopped=("fpp",))
    assert "No run of 'fpp' succeeded" in page


def test_styles_of_the_page_are_balanced(tmp_path: Path) -> None:
    style = page_of(tmp_path, made("native", [1.0])).partition("<style>")[2].partition("</style>")[0]
    assert style.count("{") == style.count("}")
    assert "svg text" in style
