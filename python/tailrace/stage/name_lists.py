"""The names of the files that each node of a run delivers: one list for each node, in the folder of the log, which all nodes share.
If two nodes have a file of the same name, one is delivered under its name, and the other as NAME.from-NODE."""

from __future__ import annotations

import itertools
import json
import os
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from tailrace.json_text import parse_json
from tailrace.place.compiled import write_rules
from tailrace.stage import given_names
from tailrace.stage.drain import StageError
from tailrace.stage.scratch_folder import files_of

BEGIN, END = "staged.", ".json"
MOST_NAME_BYTES = 255 - len(".torn")  # of a file; a torn one gets these, too

Names = Mapping[str, int]  # paths on scratch, and the times of their last change in nanoseconds


def _path(log: Path, node: str) -> Path:
    if "/" in node:
        raise StageError(f"{node}: the name of this node is no name of a file, so its files cannot be listed in {log}")
    return log / f"{BEGIN}{node}{END}"


def names_on(scratch: str) -> dict[str, int]:
    """The files of a scratch folder: paths and times of their last change."""
    found = {}
    for path in files_of(scratch):
        try:
            found[path] = os.lstat(os.path.join(scratch, path)).st_mtime_ns
        except FileNotFoundError:  # a process that outlives the run has removed it
            continue
    return found


def write(log: Path, node: str, names: Names) -> None:
    """Writes or replaces the list of a node. Raises StageError."""
    try:
        write_rules(_path(log, node), json.dumps({"node": node, "files": dict(names)}).encode())
    except OSError as error:
        raise StageError(f"{log}: the names of files on scratch could not be written there: {error.strerror}") from None


def read(log: Path) -> dict[str, dict[str, int]]:
    """Reads the lists of all nodes: by node, paths and times. Raises StageError."""
    found = {}
    for path in sorted(log.glob(f"{BEGIN}*{END}")):
        try:
            values = parse_json(path.read_text(encoding="utf-8"))
            found[str(values["node"])] = {str(name): int(time_ns) for name, time_ns in values["files"].items()}
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise StageError(f"{path}: cannot be read, so names that two nodes have made are not known: {error}") from None
    return found


def doubles(lists: Mapping[str, Names], given: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """Paths that several nodes have made, each with its nodes. First the node whose file is at the target already (`given`: paths
    and nodes), else the one whose file was changed last."""
    nodes_of: dict[str, set[str]] = defaultdict(set)
    for node in lists:
        for path in lists[node]:
            nodes_of[path].add(node)
    for path, node in given.items():
        if path in nodes_of:
            nodes_of[path].add(node)

    def order(path: str, node: str) -> tuple[bool, int, str]:
        return given.get(path) != node, -lists.get(node, {}).get(path, 0), node

    return {
        path: tuple(sorted(nodes, key=lambda node: order(path, node))) for path, nodes in sorted(nodes_of.items()) if len(nodes) > 1
    }


def set_aside(scratch: str, target: str, node: str, paths: Iterable[str], taken: Iterable[str]) -> dict[str, str]:
    """Renames files on scratch, so that they are delivered as NAME.from-NODE, or NAME.from-NODE.2 and so on if that name is taken.
    `taken`: paths of other nodes. Returns the new path of each file. Raises StageError."""
    others, new = set(taken), {}

    def is_free(name: str) -> bool:
        return name not in others and not any(os.path.lexists(os.path.join(top, name)) for top in (scratch, target))

    for path in paths:
        endings = (f".from-{node}" + (f".{number}" if number > 1 else "") for number in itertools.count(1))
        name = next(filter(is_free, (_with_ending(path, ending) for ending in endings)))
        try:
            os.rename(os.path.join(scratch, path), os.path.join(scratch, name))
        except OSError as error:
            raise StageError(
                f"{scratch}/{path}: another node has this name, too, and the file cannot get another: {error.strerror}"
            ) from None
        new[path] = name
    return new


def _with_ending(path: str, ending: str) -> str:
    folder, slash, name = path.rpartition("/")
    room = MOST_NAME_BYTES - len(os.fsencode(ending))
    return folder + slash + os.fsdecode(os.fsencode(name)[:room]) + ending


def set_aside_by_lists(scratch: str, target: str, sink: str, log: Path, node: str) -> dict[str, str]:
    """Before one node's files are drained alone, because the run has ended early. Lists the names of this node. Renames files whose
    names are in the lists of other nodes, or that another node has delivered while the program ran. Returns the new path of each
    renamed file. Raises StageError."""
    own = names_on(scratch)
    write(log, node, own)
    others = {path for other, names in read(log).items() if other != node for path in names}
    others |= {path for path, other in given_names.read(log, target).items() if other != node}
    both = sorted(others & own.keys())
    if not both or sink != "mirror":
        return {}
    new = set_aside(scratch, target, node, both, others)
    write(log, node, {new.get(path, path): time_ns for path, time_ns in own.items()})
    return new


def renamed(paths: Sequence[str], new: Mapping[str, str]) -> list[str]:
    """The paths after `set_aside`."""
    return [new.get(path, path) for path in paths]
