"""With bundles: files on scratch that replace one of the same name at the target. In a bundle they would be newer than what
everybody reads, so they are delivered to their names."""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import os
import time
from collections.abc import Collection, Iterable, Iterator

from tailrace.plain_text import quoted
from tailrace.stage.drain import StageError, name_of
from tailrace.stage.name_groups import NameGroups, failures_of
from tailrace.stage.scratch_folder import LOCK_FILE, STATE, files_of

PAUSE_S = 0.2
FEW, LISTED_FOR_EACH = 16, 20  # names for which a folder is not listed; entries that a listing may have for each name


def deliver_over_target(scratch: str, base: str, torn: Collection[str], wait_s: float) -> None:
    """`base`: the folder of the run. `torn`: paths that are left. Waits for files that a process still has open for writing. The
    caller holds the lock of the folder. Raises StageError."""
    hiding = list(at_target(base, (path for path in files_of(scratch) if path not in torn)))
    if not hiding:
        return
    groups = NameGroups("give", scratch, base)
    until_s = time.monotonic() + wait_s
    try:
        while hiding:
            answer = groups.ask(hiding)
            for path, why in failures_of(answer).items():
                raise StageError(f"{path} replaces a file at the target, and is not delivered: {why}")
            hiding = [name_of(one) for one in answer["open"]]
            if hiding and time.monotonic() > until_s:
                raise StageError(
                    f"{hiding[0]} replaces a file at the target, and a process still has it open for writing: end that process"
                )
            if hiding:
                time.sleep(PAUSE_S)
    except OSError as error:
        raise StageError(f"tailraced cannot be run: {error}") from None
    finally:
        groups.end()


def at_target(base: str, paths: Iterable[str]) -> Iterator[str]:
    """Those of the paths that are below `base`. A folder is listed where that asks less of it than a look at each name: on a
    file system of a cluster each look takes a fifth of a millisecond."""
    by_folder: dict[str, list[str]] = {}
    for path in paths:
        by_folder.setdefault(os.path.dirname(path), []).append(path)
    for folder, inside in by_folder.items():
        there = _listed(os.path.join(base, folder), LISTED_FOR_EACH * len(inside)) if len(inside) > FEW else None
        if there is not None:
            yield from (path for path in inside if os.path.basename(path) in there) if there else ()
        else:
            yield from (path for path in inside if os.path.lexists(os.path.join(base, path)))


def _listed(folder: str, most: int) -> set[str] | None:
    """The names in a folder; None where it has more than `most`, or cannot be listed."""
    try:
        with os.scandir(folder) as entries:
            names = {entry.name for entry in itertools.islice(entries, most + 1)}
    except FileNotFoundError:
        return set()
    except OSError:
        return None
    return names if len(names) <= most else None


@contextlib.contextmanager
def locked(scratch: str) -> Iterator[None]:
    """Holds the lock of a folder that no run holds. Raises StageError if another process has it."""
    path = os.path.join(scratch, STATE, LOCK_FILE)
    try:
        lock = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        raise StageError(f"{path}: {error.strerror}") from None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        raise StageError(f"{quoted(scratch)} is used by another drain, or by its run: wait until that has ended") from None
    finally:
        os.close(lock)
