"""The race of a simulator and the wrapper that reads its output: a wrapper as people write it, the simulators, and what was read.

On two nodes (rank 0 reads, rank 1 runs the simulator):

    mpirun -n 2 python -m mpi4py.futures -m bench.harness.race_members naive|tailrace FOLDER MEMBERS
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

OUT = "out.txt"
# A child of this simulator writes the rest of the output when the simulator has ended and whoever started it knows that: its pid is
# there until then. With BARRIER, the child also waits until somebody opens that FIFO.
LATE_CHILD = """read value < input.txt
printf 'result: ' > out.txt
(
    while kill -0 $$; do :; done
    if [ "$BARRIER" ]; then : < "$BARRIER"; fi
    echo "$value" >> out.txt
) 2> messages.txt &
"""
PLAIN = """read value < input.txt
echo "result: $value" > out.txt
"""
EARLIER = "result: -1\n"  # the output in the model's folder, of the run with which it was tried
ASKED, ASKS_EACH = 25, 50  # of the outputs that come next, so many are asked for each so many members
KINDS = ("right", "missing", "empty", "a part", "of an earlier run")


def write_model(folder: Path, script: str) -> Path:
    model = folder / "model"
    model.mkdir(parents=True)
    (model / "model.sh").write_text(script)
    (model / "input.txt").write_text("-1\n")
    return model


def text_of(member: int) -> str:
    return f"result: {member}.5\n"


def read(path: Path, member: int) -> str:
    """Which of KINDS a reader gets from the output at this moment."""
    try:
        found = path.read_text()
    except FileNotFoundError:
        return "missing"
    if found == text_of(member):
        return "right"
    return "empty" if not found else "of an earlier run" if found == EARLIER else "a part"


def stage(model: Path, directory: Path, member: int) -> Path:
    """A member's directory as wrappers make it: the model's folder as it is, then the member's input."""
    shutil.copytree(model, directory)
    (directory / "input.txt").write_text(f"{member}.5\n")
    return directory


def simulate(directory: str) -> str:
    """Waits for the simulator. Returns the node."""
    subprocess.run(["/bin/sh", "model.sh"], cwd=directory, stdin=subprocess.DEVNULL, check=True)
    return os.uname().nodename


def naive(folder: Path, members: int) -> Counter[str]:
    """On this node: for each member, the simulator, then its output."""
    model = write_model(folder, LATE_CHILD)
    found: Counter[str] = Counter()
    for member in range(members):
        directory = stage(model, folder / f"{member:06d}", member)
        simulate(str(directory))
        found[read(directory / OUT, member)] += 1
    return found


def naive_on_another_node(folder: Path, members: int) -> Counter[str]:
    """Numbered directories on the shared file system. Members that have their output are left out, so that the loop can be started
    again. For the others, a call that blocks, then the output is opened."""
    from mpi4py.futures import MPIPoolExecutor

    model = write_model(folder, PLAIN)
    found: Counter[str] = Counter()
    with MPIPoolExecutor(max_workers=1) as pool:
        for member in range(members):
            directory = stage(model, folder / f"{member:06d}", member)
            if (directory / OUT).exists():
                continue
            node = pool.submit(simulate, str(directory)).result()
            found[read(directory / OUT, member)] += 1
            assert node != os.uname().nodename, "both ranks are on one node"
    return found


def write_ensemble(folder: Path, script: str, members: int, engine: str, scratch: Path) -> Path:
    from tailrace.toml_table import literal

    model = write_model(folder, script)
    (model / OUT).write_text(EARLIER)
    (folder / "parameters.csv").write_text("value\n" + "".join(f"{member}.5\n" for member in range(members)))
    (folder / "input.tpl").write_text("{value}\n")
    path = folder / "ensemble.toml"
    path.write_text(f"""
name = "race"
command = ["/bin/sh", "model.sh"]
templates = {{ "input.txt" = "input.tpl" }}
[inputs]
directory = "model"
[parameters]
file = "parameters.csv"
[results]
result = {{ file = "{OUT}", regex = 'result: (\\S+)' }}
[keep]
files = ["{OUT}"]
[engine]
name = "{engine}"
scratch = {literal(str(scratch))}
""")
    return path


def tailrace(path: Path, out: Path, members: int) -> Counter[str]:
    """Reads the kept output of each member when it is said to be finished; its result must be right, too. Before, it asks for
    outputs that are not there yet, so that this node remembers their absence."""
    from tailrace.ensemble import Ensemble
    from tailrace.ensemble.member import Outcome

    found: Counter[str] = Counter()
    kept = [out / "kept" / f"{member:06d}" / OUT for member in range(members)]
    for path_of_next in kept:
        path_of_next.parent.mkdir(parents=True)

    def ask(first: int) -> None:
        found["asked for before"] += sum(not one.exists() for one in kept[first : first + ASKED])

    def finished(outcome: Outcome) -> None:
        kind = read(kept[outcome.member], outcome.member)
        is_right = outcome.ok and outcome.results == {"result": outcome.member + 0.5}
        found[kind if is_right or kind != "right" else "a part"] += 1
        if outcome.member % ASKS_EACH == 0:
            ask(outcome.member + 1)

    Ensemble(path, out).run(finished)
    return found


def main() -> None:
    how, folder, members = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
    if how == "naive":
        found = naive_on_another_node(folder, members)
    else:
        found = tailrace(write_ensemble(folder, PLAIN, members, "mpi", folder / "scratch"), folder / "out", members)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
