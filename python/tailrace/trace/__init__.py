"""What programs do to files: logs of their calls, as `tailrace run` makes them. `Run` is the model of a recorded run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tailrace.trace.model import Run

__all__ = ["Run"]


def __getattr__(name: str) -> Any:
    """`Run` is loaded when it is used: the command line must not load pyarrow to start a program."""
    if name == "Run":
        from tailrace.trace import model

        return model.Run
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
