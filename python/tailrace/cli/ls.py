"""tailrace ls: lists the streams of a directory, or the files of bundles."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from tailrace import contract
from tailrace.cli import output
from tailrace.cli.choices import OnlyStream
from tailrace.stage import bundles

SHOWN_STEPS = 12


def command(
    directory: Annotated[
        Path, typer.Argument(help="Directory with streams, a bundle of `tailrace drain`, or a folder of bundles.")
    ] = Path(),
    names: Annotated[list[str] | None, typer.Argument(help="Files or folders in a bundle. Default: all.")] = None,
    stream: OnlyStream = None,
    every_step: Annotated[bool, typer.Option("--all", "-a", help="List every step, not only the first and last ones.")] = False,
    as_json: output.AsJson = False,
) -> None:
    """The streams of a directory: layout, steps, times, files, bytes and variables. Or the files of bundles.

    A step's size is that of its files. It is `-` where these have other steps, too; in JSON it is null.

    Examples: [bold]tailrace ls out[/] · [bold]tailrace ls out --stream history --all[/] · [bold]tailrace ls out --json[/] ·
    [bold]tailrace ls results/n1-77-000001.tar data/00[/]
    """
    if names or bundles.is_named_as_tar(directory) or bundles.is_bundle(directory) or _has_only_bundles(directory):
        if stream is not None or every_step:
            raise typer.BadParameter(f"{directory} is a bundle or has bundles, which have no streams: remove --stream and --all")
        _list_bundle(directory, names or [], as_json)
        return
    streams = contract.list_streams(directory, stream)
    if as_json:
        output.print_json({"directory": str(directory), "streams": streams})
        return
    console = output.console()
    for described in streams:
        _print_stream(console, described, every_step)


def _has_only_bundles(directory: Path) -> bool:
    return bundles.has_bundles(directory) and next(directory.glob("*.parts"), None) is None


def _list_bundle(path: Path, names: list[str], as_json: bool) -> None:
    found, facts = bundles.members(path, names)
    if as_json:
        kept = ("name", "type", "link", "mode", "bytes", "mtime_ns", "data_at", "bundle")
        values = [{key: member[key] for key in kept} for member in found]
        about = {key: facts[key] for key in ("members", "taken", "seconds")}
        output.print_json({"bundle": str(path), **about, "files": values})
        return
    for member in found:
        link = f" -> {member['link']}" if member["link"] else "/" if member["type"] == "folder" else ""
        print(output.plain(f"{member['bytes']:>14,}  {member['name']}{link}"))
    print(f"{len(found):,} of {facts['members']:,} members, found in {1000 * facts['seconds']:.1f} ms", file=sys.stderr)
    if facts["taken"]:
        print(bundles.taken_text(facts["taken"]), file=sys.stderr)


def _files_with_steps(stream: dict[str, Any]) -> str:
    """The file in which steps are, or the folder of their files; both after a run of another layout."""
    dataset, layout = Path(stream["path"]), stream["layout"]
    parts = dataset.with_name(f"{stream['name']}.parts")
    if layout["files"] != "one" or layout["steps"] != "all":
        return f"{parts}/"
    return f"{dataset} and {parts}/" if next(parts.rglob("*.nc"), None) else str(dataset)


def _row(step: dict[str, Any]) -> tuple[str, str, str, str]:
    size = "-" if step["bytes"] is None else output.bytes_text(step["bytes"])
    return str(step["step"]), f"{step['time']:.15g}", str(step["files"]), size


def _print_stream(console: Any, stream: dict[str, Any], every_step: bool) -> None:
    steps = stream["steps"]
    staged = f"{len(stream['staged'])} more staged, " if stream["staged"] else ""
    console.print(f"[bold]{output.escape(stream['name'])}[/]  {output.escape(stream['path'])}")
    requested = ", ".join(f"{key} = {asked['value']}" for key, asked in stream["requested"].items()) or "nothing, so the defaults"
    console.print(
        f"  {len(steps)} steps, {staged}{output.count_text(stream['files'])} files, {output.bytes_text(stream['bytes'])}, "
        f"written by {stream['ranks']} ranks; layout asked for: {output.plain(requested)}",
        markup=False,
    )
    for note in [*stream["storage"].get("notes", []), *stream["notes"]]:
        console.print(output.plain(f"  {note}"), markup=False)
    lengths = {
        entry["name"]: f"{entry['length']} (ragged)" if entry["ragged"] else entry["length"] for entry in stream["dimensions"]
    }
    variables = output.table("  variable", "type", "dimensions", "")
    for variable in stream["variables"]:
        dims = ", ".join(f"{name}={lengths.get(name, '?')}" for name in variable["dimensions"])
        variables.add_row(
            f"  {output.escape(variable['name'])}", variable["type"], output.escape(dims), "static" if variable["static"] else ""
        )
    console.print(variables)
    table = output.table("  step", "time", "files", "size", "", numbers=("  step", "time", "files", "size"))
    hidden = 0 if every_step else max(0, len(steps) - SHOWN_STEPS)
    for position, step in enumerate(steps):
        if hidden and position == SHOWN_STEPS // 2:
            table.add_row("…", f"{hidden} more", "", "", "")
        if hidden and SHOWN_STEPS // 2 <= position < SHOWN_STEPS // 2 + hidden:
            continue
        table.add_row(*_row(step), "")
    for step in stream["staged"]:
        table.add_row(*_row(step), "staged")
    console.print(table)
    if any(step["bytes"] is None for step in steps):
        console.print(output.plain(f"  size -: several steps share a file, in {_files_with_steps(stream)}"), markup=False)
    console.print()
