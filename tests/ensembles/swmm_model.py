"""Runs EPA SWMM on model.inp; hydrograph.txt has the runoff at each report step. Fails for 2 % of all inputs where FAILS is set."""

import os
import sys
import zlib
from pathlib import Path

from swmm.toolkit import output, shared_enum, solver

if "FAILS" in os.environ and zlib.crc32(Path("model.inp").read_bytes()) % 50 == 0:
    sys.exit("this input is one of the 2 %")
solver.swmm_run("model.inp", "model.rpt", "model.out")
handle = output.init()
output.open(handle, "model.out")
steps = output.get_times(handle, shared_enum.Time.NUM_PERIODS)
runoff = output.get_subcatch_series(handle, 0, shared_enum.SubcatchAttribute.RUNOFF_RATE, 0, steps - 1)
output.close(handle)
with open("hydrograph.txt", "w") as file:
    file.writelines(f"{value!r}\n" for value in runoff)
