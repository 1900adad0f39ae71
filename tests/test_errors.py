"""One test for each kind of bad input: what is said, to all ranks alike, without a hang, and that nothing is lost by it."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import tailrace

from tests.environment import ROOT
from tests.error_run import DIFFERENCES, Calls, Run, Runner, check_rows, committed_steps, run_case
from tests.mpirun import Mpirun, run_within

pytestmark = pytest.mark.both_mpis(6, 40)

LAYOUT_OPTIONS = {
    "single": "layout = 'single'",
    "single-all": "layout = 'single'\nsteps = 'all'",
    "fpp": "layout = 'fpp'",
    "fpp-all": "layout = 'fpp'\nsteps = 'all'",
    "hds": "layout = 'hds'",
    "shared": "layout = 'shared'",
    "shared-all": "layout = 'shared'\nsteps = 'all'",
}


@dataclass(frozen=True)
class Mistake:
    """Of the last rank in step 1. `put`: status of its own call, if that fails; `end`: of end_step, on all ranks."""

    case: str
    end: str
    message: str  # a regular expression; {last} is the last rank
    put: str | None = None
    call: str = "put"
    least_ranks: int = 1


# Mistakes that make step 1 fail; steps 0 and 2 are right.
FAILING = [
    Mistake("outside", "BAD_SHAPE", r"'T': block \[\d:\d, 0:4\] leaves the array in dimension 0 \('y', length \d\)", "BAD_SHAPE"),
    Mistake("outside-by-overflow", "BAD_SHAPE", r"'T': block .* leaves the array in dimension 1 \('x', length 4\)", "BAD_SHAPE"),
    Mistake(
        "wrong-extent", "BAD_SHAPE", r"'T': block \[\d:\d, 0:5\] leaves the array in dimension 1 \('x', length 4\)", "BAD_SHAPE"
    ),
    Mistake("overlap-two-ranks", "BLOCK_OVERLAP", r"'T'.*ranks? .*\[\d:\d, 0:4\]", least_ranks=2),
    Mistake("overlap-same-rank", "BLOCK_OVERLAP", r"'T'.*rank {last}.*\[\d:\d, 0:4\]"),
    Mistake("put-twice", "BLOCK_OVERLAP", r"'T'.*rank {last}.*\[\d:\d, 0:4\]"),
    Mistake("gap", "BLOCK_GAP", r"^[^:]*: variable 'T': no rank owns element \[\d, 0\]; put a block .*_FillValue"),
    Mistake("missing-put", "BLOCK_GAP", r"'T': no rank owns element \[\d, 0\]; put a block .*_FillValue"),
    Mistake("null-data", "BAD_ARGUMENT", r"'T'.*data of a block is NULL", "BAD_ARGUMENT"),
    Mistake("null-stream", "BAD_ARGUMENT", r"'stream'.* is NULL", "BAD_ARGUMENT"),
    Mistake("null-blocks", "BAD_ARGUMENT", r"'blocks' is NULL", "BAD_ARGUMENT"),
    Mistake("null-count", "BAD_ARGUMENT", r"'count' is NULL", "BAD_ARGUMENT"),
    Mistake("refused-step", "NOT_FOUND", r"not found: (rank {last}: )?no column of 'T' is here", "NOT_FOUND"),
    Mistake("refused-without-failure", "BAD_ARGUMENT", r"refused with the status 0", "BAD_ARGUMENT"),
    Mistake("negative-blocks", "BAD_ARGUMENT", r"'T'.*number of blocks is -1", "BAD_ARGUMENT"),
    Mistake("undefined-variable", "NOT_FOUND", r"'TT' is not defined; defined are: T, mass", "NOT_FOUND"),
    Mistake("distributed-put-replicated", "BAD_ORDER", r"'T' is distributed: put it with tailrace_put", "BAD_ORDER"),
    Mistake("replicated-put-distributed", "BAD_ORDER", r"'mass' is replicated: put it with tailrace_put_replicated", "BAD_ORDER"),
    Mistake("missing-replicated", "BAD_ORDER", r"'mass' was not put: a replicated variable is put in every step"),
    Mistake("time-differs", "RANKS_DISAGREE", r"the time of the step is 1\.0 on rank 0, 1\.25 on rank {last}", least_ranks=2),
    Mistake("time-nan", "BAD_ORDER", r"end_step without tailrace_begin_step", "BAD_ARGUMENT", "begin_step"),
    Mistake("end-without-begin", "BAD_ORDER", r"'history': tailrace_end_step without tailrace_begin_step"),
    Mistake("end-without-begin-on-one", "BAD_ORDER", r"tailrace_end_step without tailrace_begin_step"),
]


def check_mistake(calls: Calls, mistake: Mistake, ranks: int) -> None:
    last = ranks - 1
    status, message = calls.outcome("end_step 1")
    assert status == mistake.end, calls.output
    assert re.search(mistake.message.replace("{last}", str(last)), message), message
    if mistake.put:
        assert calls.of(mistake.call)[last].status == mistake.put, calls.output
    if ranks > 1 and mistake.put:  # who it was
        assert f"rank {last}" in message
    assert calls.outcome("end_step 0")[0] == calls.outcome("end_step 2")[0] == calls.outcome("close")[0] == "OK", calls.output


def under_some_layout(mistake: Mistake, ranks: int) -> Run:
    options = list(LAYOUT_OPTIONS.values())
    return Run(mistake.case, options[(FAILING.index(mistake) + ranks) % len(options)], ranks)


STEP_FAILS = [(m, under_some_layout(m, ranks)) for m in FAILING for ranks in (1, 2, 3) if ranks >= m.least_ranks]
UNDER_EVERY_LAYOUT = [
    (m, Run(m.case, options))
    for m in FAILING
    if m.case in ("gap", "null-data", "overlap-two-ranks")
    for options in LAYOUT_OPTIONS.values()
]


def name_of(value: object) -> str | None:
    if isinstance(value, Run):
        return f"{value.ranks}-ranks-{value.options.replace(chr(10), ' ')}"
    return value.case if isinstance(value, Mistake) else None


@pytest.mark.parametrize(("mistake", "run"), [*STEP_FAILS, *UNDER_EVERY_LAYOUT], ids=name_of)
def test_step_fails_on_all_ranks(runs: Runner, mistake: Mistake, run: Run) -> None:
    """The step before stays, the next one goes well."""
    directory, calls = runs(run)
    check_mistake(calls, mistake, run.ranks)
    check_rows(directory, run.ranks, [0, 2])
    assert not [path.name for path in (directory / "history.parts").iterdir() if path.name.startswith(".pending")]


# Calls that are refused and harm nothing: what each says, and whether step 1 is there afterwards.
REFUSED = [
    ("put-outside-step", "put", "BAD_ORDER", r"'T': tailrace_put outside a step; call tailrace_begin_step first", [0, 2]),
    (
        "begin-twice",
        "begin_step",
        "BAD_ORDER",
        r"'history': tailrace_begin_step within a step; call tailrace_end_step first",
        [0, 1, 2],
    ),
    ("flush-within-step", "flush", "BAD_ORDER", r"'history': tailrace_flush within a step", [0, 1, 2]),
    ("define-late", "define_dim", "BAD_ORDER", r"are defined before the first step has ended", [0, 2]),
    ("define-late", "define_var", "BAD_ORDER", r"are defined before the first step has ended", [0, 2]),
    ("nan-attribute", "put_attr", "BAD_ATTRIBUTE", r"'valid_range' of variable 'T': element 1 is nan; .*only _FillValue", [0]),
    ("infinite-attribute-of-stream", "put_attr", "BAD_ATTRIBUTE", r"'limit' of the stream: element 0 is -inf", [0]),
    ("text-fill", "put_attr", "BAD_ATTRIBUTE", r"_FillValue of variable 'T' is one element of the variable's own type, f4", [0]),
    ("fill-of-other-type", "put_attr", "BAD_ATTRIBUTE", r"_FillValue of variable 'T' is one element .* f4", [0]),
    ("attribute-of-nothing", "put_attr", "NOT_FOUND", r"'Q' is not defined; defined are: T, mass", [0]),
    (
        "attribute-without-name",
        "put_attr",
        "BAD_ARGUMENT",
        r"the name '' of an attribute .* it is empty",
        [0],
    ),
    ("no-such-type", "define_var", "BAD_ARGUMENT", r"'U': 99 is not a tailrace_type", [0]),
    ("variable-twice", "define_var", "BAD_ARGUMENT", r"variable 'T' is defined twice", [0]),
    ("dimension-twice", "define_dim", "BAD_ARGUMENT", r"dimension 'x' is defined twice", [0]),
    ("slash-in-variable", "define_var", "BAD_ARGUMENT", r"'group/T' of a variable cannot be .*: '/' separates groups", [0]),
    ("slash-in-dimension", "define_dim", "BAD_ARGUMENT", r"'a/b' of a dimension cannot be .*: '/' separates groups", [0]),
    (
        "taken-prefix",
        "define_var",
        "BAD_ARGUMENT",
        r"'tailrace_T' of a variable begins with _nc4_ or tailrace_, which are reserved",
        [0],
    ),
    ("undefined-dimension", "define_var", "BAD_SHAPE", r"'U': dimension 'lon' is not defined; call tailrace_define_dim first", [0]),
    ("too-many-dimensions", "define_var", "BAD_SHAPE", r"'U' has 9 dimensions; use 0 to 8", [0]),
    ("negative-dimensions", "define_var", "BAD_SHAPE", r"'U' has -1 dimensions; use 0 to 8", [0]),
    ("named-like-time", "define_var", "BAD_ARGUMENT", r"'time' is the time coordinate", [0]),
    ("time-as-dimension", "define_dim", "BAD_ARGUMENT", r"'time' is the time dimension, .*; give this one another name", [0]),
    ("null-name", "define_var", "BAD_ARGUMENT", r"argument 'name' is NULL", [0]),
]


FPP = LAYOUT_OPTIONS["fpp"]


@pytest.mark.parametrize(("case", "call", "status", "message", "times"), REFUSED, ids=[f"{r[0]}-{r[1]}" for r in REFUSED])
def test_refused_call_harms_nothing(runs: Runner, case: str, call: str, status: str, message: str, times: list[float]) -> None:
    directory, calls = runs(Run(case, FPP))
    for answer in calls.of(call).values():
        assert answer.status == status, calls.output
        assert re.search(message, answer.message), answer.message
    check_rows(directory, 2, times)


NAN_FILL = Run("nan-fill", LAYOUT_OPTIONS["shared-all"])


def test_nan_may_be_a_fill_value(runs: Runner) -> None:
    directory, calls = runs(NAN_FILL)
    assert {call.status for call in calls.all} == {"OK"}, calls.output
    check_rows(directory, 2, [0])


DEFINE_OTHERS = [Run(case, LAYOUT_OPTIONS["single"]) for case in DIFFERENCES]


@pytest.mark.parametrize("run", DEFINE_OTHERS, ids=lambda run: run.case)
def test_ranks_define_different_things(runs: Runner, run: Run) -> None:
    directory, calls = runs(run)
    first = {rank: next(c for c in calls.all if c.rank == rank and c.call == "end_step 0") for rank in (0, 1)}
    assert first[0].status == first[1].status == "RANKS_DISAGREE", calls.output
    assert re.search(f"the definitions .*{DIFFERENCES[run.case]}", first[0].message), first[0].message
    assert calls.outcome("close")[0] == "OK"
    if run.case == "attribute-differs":  # it was mended and the step written again
        check_rows(directory, 2, [0])
    else:
        assert not (directory / "history.nc").exists()


DIFFERENT_CALLS = [
    Run(case, LAYOUT_OPTIONS[layout], ranks)
    for case in ("end-against-close", "close-against-end")
    for layout in ("fpp", "single-all")
    for ranks in (2, 3)
]


@pytest.mark.parametrize("run", DIFFERENT_CALLS, ids=lambda run: f"{run.case}-{run.ranks}-{run.options[10:16]}")
def test_ranks_in_different_calls(runs: Runner, run: Run) -> None:
    """All are told, at once and in every later call; nobody waits for a rank that has closed."""
    directory, calls = runs(run)
    late = [call for call in calls.all if call.call in ("end_step 1", "end_step 1 again", "close")]
    assert {call.status for call in late} == {"BAD_ORDER"}, calls.output
    assert any("some ranks are in tailrace_" in call.message and "same order" in call.message for call in late)
    assert any("other ranks closed the stream while this one did not" in call.message for call in late)
    check_rows(directory, run.ranks, [0])


# ---- open -----------------------------------------------------------------------------------------------------------------------

OPTIONS = [
    ("layuot = 'fpp'", "BAD_CONFIG", r"options of tailrace_open, line 1: unknown key 'layuot'; did you mean 'layout'\?"),
    ("layout = 'fpp'\nstep = 'all'", "BAD_CONFIG", r"line 2: unknown key 'step'; did you mean 'steps'\?"),
    ("layout = 'ffp'", "BAD_CONFIG", r"layout.*'ffp'.*single \| fpp \| hds"),
    ("steps = 0", "BAD_CONFIG", r"steps.*0.*1 \| N \| all"),
    ("durability = 'sometimes'", "BAD_CONFIG", r"durability.*'sometimes'.*none \| close \| step"),
    ("alignment = '5 B'", "BAD_CONFIG", r"alignment.*'5 B'.*multiple of 8"),
    ("steps = 1.5", "BAD_CONFIG", r"steps = '1.5' is not possible; allowed: 1 \| N \| all"),
    ("layout = ", "BAD_CONFIG", r"line 1: this is not valid TOML"),
    ("layout = 'fpp'\nwriters = 'all'", "BAD_LAYOUT", r"writers = all contradicts files = per-rank.*set writers = one"),
    ("layout = 'hds'\ntree = 2", "BAD_CONFIG", r"tree.*2.*at least 8"),
    ("writers = 'dedicated:1'", "BAD_LAYOUT", r"writers = dedicated:1 needs ranks that are set aside; call tailrace_set_aside"),
    ("layout = 'scratch'\noverlap = 2", "BAD_LAYOUT", r"overlap = 2 contradicts stage = scratch.*set overlap = 0"),
    ("compression = 'gzip'", "BAD_CONFIG", r"compression.*'gzip'.*deflate\[:N\]"),
    ("chunk = '1 MiB'", "BAD_LAYOUT", r"chunk = 1 MiB has no effect without compression.*set compression = deflate"),
]


@pytest.mark.parametrize(("options", "status", "message"), OPTIONS, ids=[o[0].replace("\n", "; ") for o in OPTIONS])
def test_bad_options(runs: Runner, options: str, status: str, message: str) -> None:
    directory, calls = runs(Run("none", options))
    refused_open(calls, status, message)
    assert not directory.exists()


def refused_open(calls: Calls, status: str, message: str) -> None:
    outcome = calls.outcome("open")
    assert outcome[0] == status, calls.output
    assert re.search(message, outcome[1]), outcome[1]
    assert {call.call for call in calls.all} == {"open"}


def test_bad_configuration_file(mpirun: Mpirun, tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text("[stream.history]\nlayout = 'fpp'\nstpes = 'all'\n")
    calls = run_case(mpirun, 2, tmp_path / "out", "", "none", env={"TAILRACE_CONFIG": str(file)})
    refused_open(calls, "BAD_CONFIG", rf"{re.escape(str(file))}, line 3: unknown key 'stpes'; did you mean 'steps'\?")


def test_tailrace_toml_of_the_working_directory(mpirun: Mpirun, tmp_path: Path) -> None:
    (tmp_path / "tailrace.toml").write_text("[stream.history]\nlayout = 'spp'\n")
    calls = run_case(mpirun, 2, tmp_path / "out", "", "none", cwd=tmp_path)
    refused_open(calls, "BAD_CONFIG", r"tailrace.toml, line 2: .*layout.*'spp'")


def test_configuration_file_is_not_there(mpirun: Mpirun, tmp_path: Path) -> None:
    calls = run_case(mpirun, 2, tmp_path / "out", "", "none", env={"TAILRACE_CONFIG": str(tmp_path / "absent.toml")})
    refused_open(calls, "NOT_FOUND", r"absent\.toml: No such file")


@pytest.mark.parametrize(
    ("variable", "value", "message"),
    [
        ("TAILRACE_LAYUOT", "fpp", r"TAILRACE_LAYUOT.*did you mean.*layout|TAILRACE_LAYUOT.*TAILRACE_LAYOUT"),
        ("TAILRACE_LAYOUT", "ffp", r"TAILRACE_LAYOUT.*'ffp'"),
        ("TAILRACE_HISTORY_STEPS", "none", r"TAILRACE_HISTORY_STEPS.*'none'"),
    ],
)
def test_bad_environment(mpirun: Mpirun, tmp_path: Path, variable: str, value: str, message: str) -> None:
    refused_open(run_case(mpirun, 2, tmp_path / "out", "", "none", env={variable: value}), "BAD_CONFIG", message)


NAMES = [
    ("name-with-slash", "BAD_ARGUMENT", r"stream name 'a/b' cannot be a file name"),
    ("name-with-slash-on-one", "BAD_ARGUMENT", r"stream name 'a/b' cannot be a file name"),
    ("name-empty", "BAD_ARGUMENT", r"stream name '' cannot be a file name"),
    ("name-is-../../up", "BAD_ARGUMENT", r"stream name '\.\./\.\./up' cannot be a file name: it has a '/'"),
    ("name-null-on-one", "BAD_ARGUMENT", r"rank 1: argument 'name' is NULL"),
    ("directory-null-on-one", "BAD_ARGUMENT", r"rank 1: argument 'directory' is NULL"),
    ("stream-null-on-one", "BAD_ARGUMENT", r"rank 1: argument 'stream' is NULL"),
    ("name-differs", "RANKS_DISAGREE", r"the name of the stream: .*: the name is 'history' on rank 0, 'restart' on rank 1"),
]


@pytest.mark.parametrize(("case", "status", "message"), NAMES, ids=[name[0] for name in NAMES])
def test_bad_stream_name(runs: Runner, case: str, status: str, message: str) -> None:
    refused_open(runs(Run(case, FPP))[1], status, message)


# ---- folders --------------------------------------------------------------------------------------------------------------------


def test_folder_is_a_file(mpirun: Mpirun, tmp_path: Path) -> None:
    (tmp_path / "out").write_text("a file\n")
    calls = run_case(mpirun, 2, tmp_path / "out", "layout = 'fpp'", "none")
    refused_open(calls, "IO_FAILED", rf"cannot make directory {re.escape(str(tmp_path))}/out.*: Not a directory")
    assert (tmp_path / "out").read_text() == "a file\n"


@pytest.fixture
def read_only(tmp_path: Path) -> Iterator[Path]:
    """A folder that root may not write either: a bind mount that is read-only, hence a test for root alone (CI is)."""
    source, mounted = tmp_path / "source", tmp_path / "read-only"
    source.mkdir()
    mounted.mkdir()
    try:
        subprocess.run(["mount", "--bind", source, mounted], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("only root may mount, and root may write any folder that is not mounted read-only")
    try:
        subprocess.run(["mount", "-o", "remount,bind,ro", mounted], check=True, capture_output=True)
        yield mounted
    finally:
        subprocess.run(["umount", mounted], check=True)


def test_folder_may_not_be_written(mpirun: Mpirun, read_only: Path) -> None:
    calls = run_case(mpirun, 2, read_only / "out", "layout = 'fpp'", "none")
    refused_open(calls, "IO_FAILED", r"read-only/out.*: Read-only file system; choose a directory that this user may write")


def test_folder_becomes_read_only_between_runs(mpirun: Mpirun, read_only: Path, tmp_path: Path) -> None:
    """The earlier run's steps still read."""
    run_case(mpirun, 2, tmp_path / "source", "layout = 'shared'\nsteps = 'all'", "none")
    calls = run_case(mpirun, 2, read_only, "layout = 'shared'\nsteps = 'all'", "none")
    assert calls.outcome("open")[0] == "IO_FAILED", calls.output
    check_rows(read_only, 2, [0, 1, 2])


def test_a_stream_that_could_not_be_opened_does_not_disturb_others(mpirun: Mpirun, tmp_path: Path) -> None:
    mpirun("null_case", 3, [tmp_path])
    with tailrace.open_read(tmp_path, "history") as reader:
        assert reader.steps == [0, 1, 2]
        np.testing.assert_array_equal(reader.get("v"), [200.0, 201.0, 202.0])


def test_folder_of_another_user(mpirun: Mpirun, tmp_path: Path) -> None:
    """Without root's rights: the program runs as `nobody`."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    probe = subprocess.run(["setpriv", "--reuid=65534", "--clear-groups", "true"], capture_output=True, check=False)
    if probe.returncode != 0:
        pytest.skip("only root may become another user")
    # The build may be in a folder that other users may not enter.
    for file in (*map(Path, mpirun.program("error_case")), *(mpirun.build / "lib").glob("libtailrace.so*")):
        shutil.copy(file, folder)
    # Without mpirun, whose shared memory is root's.
    command = [
        "setpriv",
        "--reuid=65534",
        "--clear-groups",
        str(folder / "error_case"),
        str(folder / "out"),
        "layout = 'fpp'",
        "none",
    ]
    finished = run_within(command, {"TMPDIR": "/tmp", "LD_LIBRARY_PATH": str(folder)})
    assert '"status": "IO_FAILED"' in finished.stdout, finished.output
    assert "Permission denied; choose a directory that this user may write" in finished.stdout
    shutil.rmtree(folder)


# ---- appending ------------------------------------------------------------------------------------------------------------------


def after_itself(case: str, layout: str, first: str | None = None) -> Run:
    return Run(case, LAYOUT_OPTIONS[layout], before=("none", LAYOUT_OPTIONS[first or layout]))


OTHER_DEFINITIONS = [
    (after_itself(case, layout), message)
    for layout in ("fpp", "single-all")
    for case, message in (
        ("append-other-length", r"dimension 1 is 'x' of length \d+ there, here 'x' of length \d+"),
        ("append-other-variable", r"variable 0 is 'T' \(f4\) there, here 'Q' \(f4\)"),
        ("append-other-type", r"variable 0 is 'T' \(f4\) there, here 'T' \(f8\)"),
    )
]


@pytest.mark.parametrize(("run", "message"), OTHER_DEFINITIONS, ids=[f"{r.case}-{r.options[10:16]}" for r, _ in OTHER_DEFINITIONS])
def test_append_with_other_definitions(runs: Runner, run: Run, message: str) -> None:
    directory, calls = runs(run)
    status, text = calls.outcome("end_step 3")
    assert status == "BAD_SHAPE", calls.output
    assert re.search(message, text), text
    assert "mode = 'replace'" in text
    check_rows(directory, 2, [0, 1, 2])


OTHER_KIND = [("shared-all", "fpp"), ("single-all", "single"), ("fpp", "shared-all"), ("single", "single-all")]
SAME_KIND = [("fpp", "hds"), ("hds", "shared"), ("single", "fpp-all"), ("shared-all", "shared-all")]


@pytest.mark.parametrize(("first", "second"), OTHER_KIND)
def test_append_under_another_kind_of_layout(runs: Runner, first: str, second: str) -> None:
    directory, calls = runs(after_itself("none", second, first))
    status, message = calls.outcome("end_step 3")
    assert status == "BAD_LAYOUT", calls.output
    assert re.search(
        r"history\.nc is (the dataset itself|an index over parts).*; keep the layout of the run before, or set mode", message
    )
    check_rows(directory, 2, [0, 1, 2])


@pytest.mark.parametrize(("first", "second"), SAME_KIND)
def test_append_under_a_layout_that_fits(runs: Runner, first: str, second: str) -> None:
    """The same without a mistake: shows that the refusals above are not all there is."""
    directory, calls = runs(after_itself("none", second, first))
    assert {call.status for call in calls.all} == {"OK"}, calls.output
    check_rows(directory, 2, [0, 1, 2, 3])


DECLARED = [
    *(run for _, run in [*STEP_FAILS, *UNDER_EVERY_LAYOUT]),
    *(Run(case, FPP) for case in dict.fromkeys(refused[0] for refused in REFUSED)),
    *(Run(case, FPP) for case, _, _ in NAMES),
    *(Run("none", options) for options, _, _ in OPTIONS),
    *(after_itself("none", second, first) for first, second in [*OTHER_KIND, *SAME_KIND]),
    *(run for run, _ in OTHER_DEFINITIONS),
    *[NAN_FILL, *DEFINE_OTHERS, *DIFFERENT_CALLS],
]


@pytest.fixture(scope="module")
def runs(mpirun: Mpirun, tmp_path_factory: pytest.TempPathFactory) -> Runner:
    return Runner(
        mpirun, tmp_path_factory.mktemp("errors"), list(dict.fromkeys([*DECLARED, *(run for run, _ in EXAMPLES.values())]))
    )


def test_journal_is_damaged(mpirun: Mpirun, tmp_path: Path) -> None:
    """A damaged line before intact ones: appending would build on what cannot be read."""
    run_case(mpirun, 2, tmp_path, LAYOUT_OPTIONS["fpp"], "none")
    journal = tmp_path / "history.parts" / "journal.jsonl"
    content = journal.read_bytes()
    at = content.index(b'"time":1.0')
    journal.write_bytes(content[: at + 7] + b"9" + content[at + 8 :])
    calls = run_case(mpirun, 2, tmp_path, LAYOUT_OPTIONS["fpp"], "none")
    refused_open(calls, "CORRUPT", r"journal\.jsonl: the line at byte \d+ is damaged.*tailrace repair")


def test_journal_is_of_a_later_format(mpirun: Mpirun, tmp_path: Path) -> None:
    core = pytest.importorskip("tailrace._core")
    run_case(mpirun, 2, tmp_path, LAYOUT_OPTIONS["fpp"], "none")
    core.journal_append(str(tmp_path / "history.parts" / "journal.jsonl"), '{"kind": "run", "format": 99}', False)
    calls = run_case(mpirun, 2, tmp_path, LAYOUT_OPTIONS["fpp"], "none")
    refused_open(calls, "UNSUPPORTED", r"journal\.jsonl: Tailrace .* has written the stream, in format 99")
    assert committed_steps(tmp_path) == [0, 1, 2]


# ---- the page about errors ------------------------------------------------------------------------------------------------------

EXAMPLES = {  # the run and its call whose message stands in docs/errors.md
    "BAD_ARGUMENT": (Run("slash-in-variable", FPP), "define_var"),
    "BAD_CONFIG": (Run("none", OPTIONS[0][0]), "open"),
    "BAD_LAYOUT": (Run("none", "layout = 'fpp'\nwriters = 'all'"), "open"),
    "BAD_SHAPE": (Run("outside", FPP), "end_step 1"),
    "BLOCK_OVERLAP": (Run("overlap-two-ranks", FPP), "end_step 1"),
    "BLOCK_GAP": (Run("gap", FPP), "end_step 1"),
    "BAD_ATTRIBUTE": (Run("nan-attribute", FPP), "put_attr"),
    "BAD_ORDER": (Run("put-outside-step", FPP), "put"),
    "RANKS_DISAGREE": (Run("attribute-differs", LAYOUT_OPTIONS["single"]), "first end_step 0"),
    "NOT_FOUND": (Run("undefined-variable", FPP), "put"),
}


def test_page_lists_every_status() -> None:
    page = (ROOT / "docs" / "errors.md").read_text()
    definition = r'^TAILRACE_STATUS\((\w+), (\d+), "(.*)", (\w+)\)'
    statuses = re.findall(definition, (ROOT / "include" / "tailrace" / "status.def").read_text(), re.MULTILINE)
    assert len(statuses) > 10
    rows = [
        f"| {number} | `{name}` | {phrase} | {f'`{python}` ' if python != 'None' else ''}|"
        for name, number, phrase, python in statuses
    ]
    assert [line for line in page.splitlines() if re.match(r"\| \d", line)] == rows
    assert re.findall(r"^### (\w+)$", page, re.MULTILINE) == [status[0] for status in statuses if status[0] != "OK"]


@pytest.mark.parametrize("status", EXAMPLES)
def test_example_of_page_is_what_is_said(runs: Runner, status: str) -> None:
    page = (ROOT / "docs" / "errors.md").read_text()
    section = page.split(f"### {status}\n")[1].split("### ")[0]
    example = next(line.strip() for line in section.splitlines() if line.startswith("    "))
    run, call = EXAMPLES[status]
    said = [answer for answer in runs(run)[1].all if answer.call == call.removeprefix("first ") and answer.status == status]
    assert said
    assert all(example in answer.message for answer in said), said[0].message
