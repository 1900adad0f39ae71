"""Tailrace: named distributed arrays to plain files, under a layout that is one line of configuration.

with tailrace.open("out", "history", layout="hds") as stream:
    stream.dim("lat", 180)
    stream.dim("lon", 360)
    stream.var("T", ("lat", "lon"), "f4", units="K")
    with stream.step(time=3600.0) as step:
        step.put("T", rows, offset=(first_row, 0))
"""

from typing import TYPE_CHECKING

from tailrace import lazy
from tailrace.phase import phase
from tailrace.set_aside import set_aside

_MODULES = {
    "TYPES": "_core",
    "__version__": "_core",
    "adopt": "contract",
    "combine": "contract",
    "convert": "contract",
    "describe_layout": "contract",
    "index": "contract",
    "journal_append": "contract",
    "journal_read": "contract",
    "keys": "contract",
    "list_streams": "contract",
    "plan": "contract",
    "repair": "contract",
    "rewind": "contract",
    "verify": "contract",
    "Layout": "layout",
    "Reader": "reader",
    "open_read": "reader",
    "RAGGED": "stream",
    "Step": "stream",
    "Stream": "stream",
    "open": "stream",
}

if TYPE_CHECKING:
    from tailrace._core import TYPES, __version__
    from tailrace.contract import (
        adopt,
        combine,
        convert,
        describe_layout,
        index,
        journal_append,
        journal_read,
        keys,
        list_streams,
        plan,
        repair,
        rewind,
        verify,
    )
    from tailrace.errors import *  # noqa: F403  one class for each line of status.def
    from tailrace.errors import __all__ as _error_names
    from tailrace.layout import Layout
    from tailrace.reader import Reader, open_read
    from tailrace.stream import RAGGED, Step, Stream, open  # open is meant to be read as tailrace.open

    __all__ = [
        "RAGGED",
        "TYPES",
        "Layout",
        "Reader",
        "Step",
        "Stream",
        "__version__",
        "adopt",
        "combine",
        "convert",
        "describe_layout",
        "journal_append",
        "journal_read",
        "keys",
        "list_streams",
        "open",
        "open_read",
        "phase",
        "plan",
        "repair",
        "rewind",
        "set_aside",
        "index",
        "verify",
        *_error_names,
    ]

    def __getattr__(name: str) -> type[Exception]:
        """Type checkers cannot see the errors, which are made at import."""

else:
    # The library and its MPI are loaded at the first use: commands such as `tailrace run` need neither.
    _declared, _declared_names = lazy.attributes(__name__, _MODULES)

    def __getattr__(name):
        if name == "__all__":
            return [*_MODULES, "phase", "set_aside", *__getattr__("errors").__all__]
        if name in ("errors", "contract", "layout", "_core"):
            return lazy.module(__name__, name)
        if name[:1].isupper() and name not in _MODULES:  # perhaps an error: one class for each line of status.def
            declared = __getattr__("errors")
            if name in declared.__all__:
                return getattr(declared, name)
        return _declared(name)

    def __dir__():
        return sorted({*_declared_names(), *__getattr__("__all__")})
