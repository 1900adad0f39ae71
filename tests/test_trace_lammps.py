"""A real MPI application from Debian: its logs have every byte that its ranks write."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from tailrace.trace.phases import phases_of
from tailrace.trace.ranks import is_no_file

from tests.mpirun import Mpirun
from tests.recorder import Recorder

RANKS = 2
# Lennard-Jones atoms; each rank writes a dump and a restart file of its own every ten steps.
MELT = """
units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 8 0 8 0 8
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 3.0 87287
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
fix 1 all nve
dump d all custom 10 dump.%.* id type x y z
restart 10 restart.%.*
run 20
"""


def test_lammps(mpirun: Mpirun, tmp_path: Path) -> None:
    record = Recorder(mpirun, tmp_path)
    (record.work / "in.melt").write_text(MELT)
    logs = record("/usr/bin/lmp", "-in", "in.melt", "-log", "log.melt", ranks=RANKS)
    written: dict[str, int] = {}
    for log in logs:
        moves = [number for number, call in log.calls.items() if call.group in ("write", "flush")]
        events = log.events[np.isin(log.events["call"], moves) & (log.events["result"] > 0)]
        for event in events:
            name = log.name_of(int(event["file"]))
            written[name] = written.get(name, 0) + int(event["result"])
    own = [
        f"{kind}.{rank}.{step}"
        for kind, steps in (("dump", (0, 10, 20)), ("restart", (10, 20)))
        for rank in range(RANKS)
        for step in steps
    ]
    for name in [*own, "restart.base.10", "restart.base.20", "log.melt"]:
        path = record.work / name
        assert written.get(str(path)) == path.stat().st_size, name
    found = phases_of(logs)
    assert not found.unmatched
    assert sum(phase.written_bytes for phase in found.phases) == sum(
        bytes_written for name, bytes_written in written.items() if not is_no_file(name)
    )
    assert any("LAMMPS_NS::Dump::write" in phase.name for phase in found.phases)
