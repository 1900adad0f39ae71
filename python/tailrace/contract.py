"""The functions of the contract that need no open stream: text in, values out."""

from __future__ import annotations

import json
import operator
import os
import unicodedata
from collections.abc import Callable, Container, Iterable, Mapping
from typing import Any

import tomli_w

import tailrace._core as _core
from tailrace.communicator import fortran_handle

Json = dict[str, Any]


def path_text(path: str | os.PathLike[str]) -> str:
    """As the library takes it."""
    text = os.fspath(path)
    try:
        text.encode()
    except UnicodeEncodeError:
        raise _core.ERRORS["BAD_ARGUMENT"](f"{text!r}: the names of directories and files must be UTF-8 here") from None
    return text


def stored_name(name: str, known: Container[str]) -> str:
    """The spelling under which a name is stored: Unicode's form NFC, unless an older stream has the name as it is."""
    return name if name in known else unicodedata.normalize("NFC", name)


def options_toml(layout: Any = None, **choices: Any) -> str:
    """The TOML text of a layout (preset name, Layout or mapping of keys) and further keys, which are stronger."""
    given: dict[str, Any] = {}
    if isinstance(layout, str):
        given["layout"] = layout
    elif isinstance(layout, Mapping):
        given.update(layout)
    elif layout is not None:
        given.update(layout.given)
    return tomli_w.dumps(given | choices)


def keys() -> Json:
    """The configuration keys, the presets, and which choices go together.

    {"keys": [{"name", "values", "default", "meaning"}...], "presets": [...],
    "combinations": [{"files", "writers", "steps", "tree", "refusal": "" or why it is not written}...],
    "tables": [{"name", "meaning"}...] of tailrace.toml, "variables": [{"name", "reader", "meaning", "default"}...]}.
    """
    return json.loads(_core.keys())


def describe_layout(layout: Any = None, **choices: Any) -> Json:
    """Checks a layout and completes it: {"layout": every key's effective value, "given": those asked for}."""
    return json.loads(_core.describe_layout(options_toml(layout, **choices)))


def _plain(value: Any) -> Any:
    if hasattr(value, "tolist"):  # an array or a number of numpy
        return value.tolist()
    raise TypeError(f"{value!r} is no text, number, or list of either")


def plan(
    variables: Iterable[Mapping[str, Any]],
    *,
    ranks: int,
    nodes: int = 1,
    steps: int = 1,
    name: str = "stream",
    rank: int | None = None,
    coordinates: Iterable[Mapping[str, Any]] = (),
    attributes: Mapping[str, Any] | None = None,
    time_attributes: Mapping[str, Any] | None = None,
    layout: Any = None,
    **choices: Any,
) -> Json:
    """What a layout would do, without doing it: files, directories, writers, bytes and messages.

    A variable is {"name", "type": "f4", "shape": [...], "grid": [blocks along each dimension], "attributes": {...}}, a coordinate
    {"name", "type", "length", "attributes"}; `attributes` are the stream's. Nothing is written; a million ranks are planned in
    seconds. `metadata_bytes` is what all parts hold beside the arrays, `index_bytes` the length of the index, 0 where NAME.nc is a
    part; `stored` are all files and bytes on storage, with the journal. What is estimated is in `notes`.
    """
    request = {
        "layout": options_toml(layout, **choices),
        "ranks": ranks,
        "nodes": nodes,
        "steps": steps,
        "name": name,
        "variables": [dict(variable) for variable in variables],
        "coordinates": [dict(coordinate) for coordinate in coordinates],
        "attributes": dict(attributes or {}),
        "time_attributes": dict(time_attributes or {}),
    }
    if rank is not None:
        request["rank"] = rank
    return json.loads(_core.plan(json.dumps(request, default=_plain)))


def list_streams(directory: str | os.PathLike[str], name: str | None = None) -> list[Json]:
    """The streams of a directory (or the one called `name`): layout, steps, times, files, bytes, dimensions, variables.

    The `bytes` of a step are those of its files; None where these have other steps, too.
    """
    streams = json.loads(_core.list_streams(path_text(directory), name))["streams"]
    for step in (step for stream in streams for step in (*stream["steps"], *stream["staged"])):
        step["bytes"] = step["bytes"] or None  # the journal has 0 there
    return streams


def verify(directory: str | os.PathLike[str], name: str, *, deep: bool = False) -> Json:
    """Checks that every committed step of a stream is there and whole; with `deep` every byte against its checksum.

    {"ok", "state": "whole" | "being written" | "damaged", "steps", "files", "bytes",
    "problems": [{"path", "step", "problem", "remedy": "repair" | "index" | ""}, ...], "notes": what its readers should know};
    a damaged stream is an answer here, not an exception.
    """
    return json.loads(_core.verify(path_text(directory), name, deep))


def repair(directory: str | os.PathLike[str], name: str, *, take_over: bool = False) -> Json:
    """Makes a damaged stream one that can be read and appended to.

    IN_USE while another process writes it; with `take_over` that process gets OVERTAKEN at its next step.
    {"ok", "steps" left, "actions": [{"action", "path", "steps", "why"}, ...], "problems" that it cannot mend}.
    """
    return json.loads(_core.repair(path_text(directory), name, take_over))


def rewind(
    directory: str | os.PathLike[str],
    name: str,
    *,
    before: float | None = None,
    steps: int | None = None,
    take_over: bool = False,
) -> Json:
    """Takes the last steps out of a stream: those at or after the time `before`, or the last `steps` of them.

    As before a run that starts from an earlier restart. IN_USE while another process writes the stream, unless `take_over`.
    {"stream", "steps" left, "dropped": [numbers], "times": [of these], "removed": [paths]}.
    """
    chosen: dict[str, float | int] = {}
    if before is not None:
        chosen["before"] = float(before)
    if steps is not None:
        chosen["steps"] = operator.index(steps)
    return json.loads(_core.rewind(path_text(directory), name, json.dumps(chosen), take_over))


def adopt(directory: str | os.PathLike[str], name: str, *, take_over: bool = False) -> Json:
    """Takes over the attributes that another program has changed in the file that is the dataset itself.

    UNSUPPORTED where more than attributes was changed. {"stream", "steps", "path", "changed": [{"variable", "attribute", "before",
    "now"}]}.
    """
    return json.loads(_core.adopt(path_text(directory), name, take_over))


def index(directory: str | os.PathLike[str], name: str, *, take_over: bool = False) -> None:
    """Writes the index of a stream anew from what is committed, as after a run that was killed.

    IN_USE while another process writes the stream, unless `take_over`.
    """
    _core.index(path_text(directory), name, take_over)


def combine(
    directory: str | os.PathLike[str],
    name: str,
    output: str | os.PathLike[str],
    *,
    threads: int = 0,
    replace: bool = False,
    sync: bool = False,
    progress: Callable[[int, int], object] | None = None,
) -> Json:
    """Writes all committed steps of a stream as one plain NetCDF-4 file, by several threads (0: as many as cores, at most 8).

    The output has its name when it is whole. The next call for the same steps continues one that was stopped or killed.
    `progress` is called with the bytes done and all; an exception of it stops the work. `replace`: an output that is there;
    `sync`: it is on the device at the end. {"stream", "output", "steps", "steps_before", "bytes", "file_bytes"}.
    """
    options = json.dumps({"threads": threads, "replace": replace, "sync": sync})
    return json.loads(_core.combine(path_text(directory), name, path_text(output), options, progress or (lambda _done, _all: None)))


def convert(
    source: str | os.PathLike[str],
    name: str,
    target: str | os.PathLike[str],
    *,
    layout: Any = None,
    comm: Any = None,
    progress: Callable[[int, int], object] | None = None,
    **choices: Any,
) -> Json:
    """All committed steps of a stream once more, in directory `target`, under another layout; collective over `comm`.

    `layout` and `choices` are as in tailrace.open. Each rank holds an equal part of each array of a step in memory.
    Steps that an earlier call has put there stay, and the rest follow. `progress` is called on rank 0 with the steps done and
    all; an exception of it stops the work on all ranks. {"stream", "steps", "steps_before", "rank"}.
    """
    options = options_toml(layout, **choices)
    tell = progress or (lambda _done, _all: None)
    return json.loads(_core.convert(fortran_handle(comm), path_text(source), name, path_text(target), options, tell))


def journal_append(path: str | os.PathLike[str], record: Mapping[str, Any], *, sync: bool = False) -> None:
    """Appends a JSON object as a checksummed line, whole or not at all; with `sync` it is on the device afterwards."""
    _core.journal_append(path_text(path), json.dumps(dict(record), separators=(",", ":")), sync)


def journal_read(path: str | os.PathLike[str]) -> tuple[list[Json], int]:
    """All intact lines of a journal, and how many bytes of a torn tail follow them."""
    text, torn_bytes = _core.journal_read(path_text(path))
    return json.loads(text), torn_bytes
