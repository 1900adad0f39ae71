"""The library: the extension for MPI where it can be loaded, or else the one for one process. It takes the place of this module."""

import sys
from importlib.machinery import EXTENSION_SUFFIXES, ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

FOLDERS = ("_with_mpi", "_without_mpi")


def _loaded() -> ModuleType:
    failed = []
    for folder in FOLDERS:
        for suffix in EXTENSION_SUFFIXES:
            path = Path(__file__).parent / folder / f"_core{suffix}"
            if not path.exists():
                continue
            try:
                spec = spec_from_file_location(__name__, path, loader=ExtensionFileLoader(__name__, str(path)))
                if spec is None or spec.loader is None:
                    raise ImportError(f"{path} cannot be loaded")
                module = module_from_spec(spec)
                spec.loader.exec_module(module)
            except ImportError as error:  # without an MPI: libmpi.so.40: cannot open shared object file
                failed.append(str(error))
            else:
                module.WITH_MPI = folder == "_with_mpi"  # type: ignore[attr-defined]
                return module
    raise ImportError(f"tailrace's library cannot be loaded: {'; '.join(failed) or 'it was not built: run `make build`'}")


if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...  # the extension has no stubs


sys.modules[__name__] = _loaded()
