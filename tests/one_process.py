"""The library for one process, which needs no MPI, in place of the one for MPI: programs that fork for each case begin at once."""

from __future__ import annotations

import os
import sys
from importlib.machinery import EXTENSION_SUFFIXES, ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

from tests.environment import ROOT

LIBRARY = "ONE_PROCESS_LIBRARY"  # a variable: the extension to take instead, such as one under the sanitizers
BUILT = ROOT / "python" / "tailrace" / "_without_mpi" / f"_core{EXTENSION_SUFFIXES[0]}"


def use_one_process_library() -> None:
    """Before the first import of tailrace. Ranks that mpirun has started keep the library for MPI, and so does a build that has
    no other."""
    if "OMPI_COMM_WORLD_SIZE" in os.environ or "tailrace._core" in sys.modules:
        return
    path = Path(os.environ.get(LIBRARY, BUILT))
    if not path.exists():
        return
    spec = spec_from_file_location("tailrace._core", path, loader=ExtensionFileLoader("tailrace._core", str(path)))
    assert spec is not None
    assert spec.loader is not None
    sys.modules["tailrace._core"] = module = module_from_spec(spec)
    spec.loader.exec_module(module)
    module.WITH_MPI = False  # type: ignore[attr-defined]
