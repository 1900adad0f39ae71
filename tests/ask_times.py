"""Measures questions for files of other nodes: `python -m tests.ask_times`. The nodes share this machine. Needs root."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from tests.fake_nodes import FakeNodes

COMMAND = [str(Path(__file__).resolve().parents[1] / "build/bin/tailrace")]
TIMES = 300
SCRIPT = f"""
import statistics
def times_of(call, names):
    times = []
    for name in names:
        begin = time.perf_counter()
        call(name)
        times.append(1e3 * (time.perf_counter() - begin))
    times.sort()
    middle, low, high = statistics.median(times), times[len(times) // 10], times[len(times) * 9 // 10]
    return f"median {{middle:.3f}} ms, 10 % below {{low:.3f}} ms, 10 % above {{high:.3f}} ms"
if rank == 0:
    for number in range({TIMES}):
        put(f"f.{{number}}")
    flag("written")
    wait("read")
else:
    wait("written")
    absent = [f"out/absent.{{number}}" for number in range({TIMES})]
    print("no node has the file:   ", times_of(os.path.exists, absent))
    print("another node delivers it:", times_of(lambda name: open(name, "rb").close(), [f"out/f.{{n}}" for n in range({TIMES})]))
    outside = [TOP + f"/absent.{{number}}" for number in range({TIMES})]
    print("outside of the folder:  ", times_of(os.path.exists, outside))
    flag("read")
"""


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        for hosts in (("n1", "n2"), ("n1", os.uname().nodename)):
            top = Path(folder) / "-".join(hosts)
            top.mkdir()
            nodes = FakeNodes(top, COMMAND)
            nodes.hosts = hosts
            done = nodes.run(SCRIPT)
            print(f"{' and '.join(hosts)}, {TIMES} names each; load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
            print(done.stdout if done.returncode == 0 else done.stderr)


if __name__ == "__main__":
    main()
