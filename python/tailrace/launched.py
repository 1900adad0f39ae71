"""How many processes a launcher has started together, by the variables that it gives each of them."""

from __future__ import annotations

import os
from collections.abc import Mapping

# RATIONALE: SLURM_NTASKS is not among them, because the script of a job has it, too, and is no rank of a step.
VARIABLES = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS")


def launched_together(environment: Mapping[str, str] = os.environ) -> tuple[str, int] | None:
    """A variable, and how many processes it says; None if this process was started alone."""
    for name in VARIABLES:
        if (text := environment.get(name, "")).isdecimal() and int(text) > 1:
            return name, int(text)
    return None
