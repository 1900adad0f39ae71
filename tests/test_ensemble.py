"""Ensembles by the nasty simulator: every way of failing, kills, resuming, and what scratch holds afterwards."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from tailrace.ensemble import Ensemble, EnsembleError, MemberError
from tailrace.ensemble.marks import end_processes_of
from tailrace.journal import lines_of

from tests.ensembles import WAYS, compare, left_on_scratch, marked_processes, table_of, write_ensemble


@pytest.mark.fast
def test_every_way_of_failing_has_its_reason(tmp_path: Path) -> None:
    ways = list(WAYS)
    ensemble = Ensemble(write_ensemble(tmp_path, ways))
    summary = ensemble.run()
    compare(ensemble.folder.out, ways)
    assert (summary["good"], summary["failed"], summary["left"]) == (5, 8, 0)
    by_reason = {failure["reason"]: failure for failure in summary["failures"]}
    assert "the matrix is singular" in by_reason["exit"]["example"]["log"]
    assert left_on_scratch(tmp_path) == []
    assert marked_processes(ensemble.folder.run) == [], "processes of members are left"


def test_who_writes_into_a_read_only_input_stops_the_ensemble(tmp_path: Path) -> None:
    ways = ["good"] * 3 + ["input"] + ["good"] * 40
    path = write_ensemble(tmp_path, ways)
    path.write_text(
        path.read_text()
        .replace('directory = "model"', 'directory = "model"\nread_only = ["*.bin"]')
        .replace("workers = 2", "workers = 1")
    )
    ensemble = Ensemble(path)
    with pytest.raises(EnsembleError, match=r"member 3 stopped the ensemble: large.bin"):
        ensemble.run()
    assert (tmp_path / "model" / "large.bin").read_bytes() == b"0123456789", "the original was changed"
    assert len(ensemble.folder.read().finished) < len(ways)


def test_an_output_that_another_process_has_open_is_waited_for(tmp_path: Path) -> None:
    """The member passes its open output to a process outside, which writes the right result later."""
    holder = tmp_path / "holder"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(holder))
        server.listen()

        def hold() -> None:
            end, _ = server.accept()
            with end:
                _, (descriptor,), _, _ = socket.recv_fds(end, 1, 1)
                end.send(b"x")
            time.sleep(1.0)
            os.pwrite(descriptor, b"result: 0.5\n", 0)
            os.close(descriptor)

        thread = threading.Thread(target=hold)
        thread.start()
        ensemble = Ensemble(write_ensemble(tmp_path, ["passed"], more=f'[environment]\nHOLDER = "{holder}"'))
        ensemble.run()
        thread.join()
    line = next(line for _, line in lines_of(ensemble.folder.journal) if line["kind"] == "member")
    if line["facts"]["leases"] != "held":
        pytest.skip("this file system has no leases")
    assert table_of(ensemble.folder.out)[0]["result"] == "0.5"
    assert line["seconds"]["wait"] > 0.5


def test_a_full_scratch_fails_the_member_and_no_other(tmp_path: Path, small_device: Path) -> None:
    path = write_ensemble(tmp_path, ["good", "full", "good"], "timeout_s = 20\nmin_free_mib = 0")
    # One worker: a member that runs beside the one that fills scratch has no space either.
    path.write_text(path.read_text().replace(str(tmp_path / "scratch"), str(small_device)).replace("workers = 2", "workers = 1"))
    ensemble = Ensemble(path)
    ensemble.run()
    rows = table_of(ensemble.folder.out)
    assert [rows[member]["reason"] for member in range(3)] == ["", "exit", ""]
    line = next(line for _, line in lines_of(ensemble.folder.journal) if line.get("reason") == "exit")
    assert "No space left" in line["log"]


def test_scratch_below_the_wanted_free_space_is_an_error_of_the_member(tmp_path: Path) -> None:
    ensemble = Ensemble(write_ensemble(tmp_path, ["good"], "min_free_mib = 1000000000"))
    ensemble.run()
    assert table_of(ensemble.folder.out)[0]["reason"] == "scratch"


def test_retries(tmp_path: Path) -> None:
    (tmp_path / "counts").mkdir()
    more = f'[environment]\nCOUNTS = "{tmp_path / "counts"}"'
    ensemble = Ensemble(write_ensemble(tmp_path, ["flaky"], "retries = 2", more))
    ensemble.run()
    row = table_of(ensemble.folder.out)[0]
    assert (row["result"], row["attempts"]) == ("0.5", "3")


def test_outputs_and_directories_of_failed_members_are_kept(tmp_path: Path) -> None:
    more = '[keep]\nfiles = ["out.txt", "scratch1*.tmp"]\ndirectory = "failed"'
    path = write_ensemble(tmp_path, ["many", "half"], more=more)
    ensemble = Ensemble(path)
    ensemble.run()
    kept = ensemble.folder.kept
    assert (kept / "000000" / "out.txt").read_text() == "result: 0.5\n"
    assert len(list((kept / "000000").iterdir())) == 1 + 111
    assert not (kept / "000001").exists()
    assert (kept / "000001-directory" / "out.txt").read_text() == "result: "


def start(path: Path, *words: str) -> subprocess.Popen[bytes]:
    """A shell that runs the tests in the background makes them ignore SIGINT; this command does not."""
    command = [sys.executable, "-m", "tailrace", "ensemble", *words, str(path)]
    heeds_interrupts = lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)  # noqa: E731
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=heeds_interrupts)


def wait_for_lines(journal: Path, least: int) -> None:
    end = time.monotonic() + 60
    while time.monotonic() < end:
        if journal.exists() and journal.read_bytes().count(b"\n") >= least:
            return
        time.sleep(0.02)
    pytest.fail(f"{journal} has not {least} lines")


def test_after_a_kill_resume_runs_what_is_missing(tmp_path: Path, rng: random.Random) -> None:
    ways = [rng.choice(["good", "good", "good", "exit", "missing", "late", "daemon", "half"]) for _ in range(40)]
    path = write_ensemble(tmp_path, ways)
    out = tmp_path / "nasty-ensemble"
    least = 0
    for round_, word in enumerate(("run", "resume", "resume")):
        process = start(path, word)
        least += 2 + rng.randrange(4)
        wait_for_lines(out / "members.jsonl", least)
        time.sleep(rng.random() * 0.2)
        process.send_signal(signal.SIGKILL)
        process.wait()
        if round_ == 1:  # a torn tail, as after a crash of the machine
            with (out / "members.jsonl").open("ab") as journal:
                journal.write(b'{"kind":"member","memb')
    ensemble = Ensemble(path)
    before = set(ensemble.folder.read().finished)
    again: list[int] = []
    ensemble.run(lambda outcome: again.append(outcome.member), resume=True)
    assert before
    assert not before & set(again), "a member that was finished ran again"
    compare(out, ways)
    members = [line["member"] for _, line in lines_of(out / "members.jsonl") if line["kind"] == "member"]
    assert len(members) == len(set(members)) == len(ways)
    assert marked_processes(ensemble.folder.run) == []
    assert left_on_scratch(tmp_path) == []


def test_a_killed_keeper_is_the_end_of_its_member_alone(tmp_path: Path) -> None:
    ensemble = Ensemble(write_ensemble(tmp_path, ["hang", *["good"] * 10], "timeout_s = 60"))

    def kill_keeper() -> None:
        end = time.monotonic() + 30
        while time.monotonic() < end:
            run = (
                next((line["run"] for _, line in lines_of(ensemble.folder.journal)), "") if ensemble.folder.journal.exists() else ""
            )
            for pid in marked_processes(run) if run else []:
                with contextlib.suppress(OSError):
                    if b"hang" in Path(f"/proc/{pid}/cmdline").read_bytes():
                        parent = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
                        os.kill(parent, signal.SIGKILL)
                        return
            time.sleep(0.05)

    thread = threading.Thread(target=kill_keeper)
    thread.start()
    ensemble.run()
    thread.join()
    rows = table_of(ensemble.folder.out)
    assert rows[0]["reason"] == "lost"
    assert all(rows[member]["result"] == str(member + 0.5) for member in range(1, 11))
    assert marked_processes(ensemble.folder.run) == []


def test_an_interruption_ends_the_members_that_run(tmp_path: Path) -> None:
    """They would run for 1000 s. After it, what is missing can be run."""
    path = write_ensemble(tmp_path, ["good", "hang", "hang", "good"], "timeout_s = 1000\ngrace_s = 0.2")
    process = start(path, "run")
    run = ""
    while process.poll() is None and len(marked_processes(run)) < 4:  # each of the two that hang has a child
        run = Ensemble(path).folder.read().run
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=120) == 130
    assert marked_processes(run) == []
    folder = Ensemble(path).folder.read()
    assert set(folder.finished) <= {0, 3}
    assert left_on_scratch(tmp_path) == []


def test_a_changed_command_is_refused_with_the_difference(tmp_path: Path) -> None:
    path = write_ensemble(tmp_path, ["good", "good"])
    Ensemble(path).run()
    (tmp_path / "model" / "large.bin").write_bytes(b"other")
    path.write_text(path.read_text().replace('"model.py", ', '"model.py", ').replace("regex = 'result: (", "regex = 'result:  ?("))
    with pytest.raises(EnsembleError, match=r"inputs: large.bin has changed; results: result has changed"):
        Ensemble(path).run(resume=True)
    ran: list[int] = []
    Ensemble(path).run(lambda outcome: ran.append(outcome.member), resume=True, rerun_changed=True)
    assert sorted(ran) == [0, 1]


def test_a_member_with_other_parameters_runs_again(tmp_path: Path) -> None:
    path = write_ensemble(tmp_path, ["good", "good", "exit"])
    Ensemble(path).run()
    with pytest.raises(EnsembleError, match="tailrace ensemble resume"):
        Ensemble(path).run()
    write_ensemble(tmp_path, ["good", "many", "exit", "good"])
    ran: list[int] = []
    Ensemble(path).run(lambda outcome: ran.append(outcome.member), resume=True)
    assert sorted(ran) == [1, 3]
    Ensemble(path).run(lambda outcome: ran.append(outcome.member), resume=True, rerun_failed=True)
    assert sorted(ran) == [1, 2, 3]


def test_two_parents_are_refused(tmp_path: Path) -> None:
    path = write_ensemble(tmp_path, ["hang"], "timeout_s = 30")
    process = start(path, "run")
    try:
        wait_for_lines(tmp_path / "nasty-ensemble" / "members.jsonl", 1)
        with pytest.raises(EnsembleError, match="an ensemble is running in this folder"):
            Ensemble(path).run(resume=True)
    finally:
        process.kill()
        process.wait()
    end_processes_of(Ensemble(path).folder.read().run)


def test_calls_keep_their_order_and_give_what_is_wanted_for_a_failure(tmp_path: Path) -> None:
    path = write_ensemble(tmp_path, ["good"])
    points = [("good", number + 0.25) if number % 3 else ("exit", number) for number in range(9)]
    with Ensemble(path, tmp_path / "calls", failed=-7) as ensemble:
        assert ensemble.map(points) == [point[1] if point[0] == "good" else -7 for point in points]
        nested = ensemble.map(lambda number: sum(ensemble.map([("good", number), ("good", 1)])), [1, 2, 3, 4, 5])
        assert nested == [2, 3, 4, 5, 6]
    assert len(table_of(tmp_path / "calls")) == 19
    with Ensemble(path, tmp_path / "calls", failed="raise") as ensemble, pytest.raises(MemberError, match="exit status 3"):
        ensemble.map(points)


def test_the_package_is_imported_without_mpi() -> None:
    code = "import sys, tailrace.ensemble.ensemble as e; print([m for m in sys.modules if 'mpi4py' in m or m == 'tailrace._core'])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_command_line(tmp_path: Path) -> None:
    path = write_ensemble(tmp_path, ["good", "exit"])

    def tailrace(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([sys.executable, "-m", "tailrace", "ensemble", *words], capture_output=True, text=True, cwd=tmp_path)

    checked = tailrace("check", str(path), "--json")
    assert (checked.returncode, json.loads(checked.stdout)["results"]) == (0, {"result": 0.5})
    assert not (tmp_path / "nasty-ensemble" / "members.jsonl").exists()
    ran = tailrace("run", str(path))
    assert ran.returncode == 1
    assert "2 members: 1 good, 1 failed, 0 left" in ran.stdout
    assert "the matrix is singular" in ran.stdout
    shown = json.loads(tailrace("status", str(path), "--json").stdout)
    assert (shown["running"], shown["good"], shown["failed"]) == (False, 1, 1)
    assert tailrace("run", str(path)).returncode == 2
    assert tailrace("init", "model", "--", "./m", "x").returncode == 2, "ensemble.toml is there already"
    path.unlink()
    assert tailrace("init", "model", "--", "python3", "-S", "model.py", "good", "1.5").returncode == 0
    assert tailrace("check", str(path)).returncode == 2, "there are no ranges yet"
    path.write_text(path.read_text().replace("[results]", "[results]\nresult = { file = 'out.txt', regex = ': (.+)' }"))
    path.write_text(path.read_text().replace('sampler = "latin-hypercube"', "").replace('"1.5"', '"{member}"'))
    assert json.loads(tailrace("check", str(path), "--member", "3", "--json").stdout)["results"] == {"result": 3}
