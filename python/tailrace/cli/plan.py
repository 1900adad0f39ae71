"""tailrace plan: shows the files and messages of a layout, and writes nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from tailrace import contract
from tailrace.cli import output
from tailrace.cli.choices import complete_preset, layout_of, parse_variables
from tailrace.cli.plan_file import PlannedStream, read_planned_stream
from tailrace.cli.plan_picture import picture
from tailrace.cli.plan_svg import svg as picture_svg


def command(
    layout: Annotated[
        str | None, typer.Argument(help="Preset, such as hds or split:4; without it the default.", autocompletion=complete_preset)
    ] = None,
    ranks: Annotated[int, typer.Option("--ranks", "-n", min=1, help="Ranks of the run.")] = 4,
    nodes: Annotated[int, typer.Option("--nodes", "-N", min=1, help="Nodes; the ranks fill them evenly.")] = 1,
    shape: Annotated[
        list[str] | None, typer.Option("--shape", help="[NAME:]SHAPE[:TYPE] of a variable, as T:180x360:f4; repeatable.")
    ] = None,
    grid: Annotated[
        list[str] | None, typer.Option("--grid", help="Blocks along each dimension, as 8x8: one for each --shape, in order.")
    ] = None,
    variables: Annotated[
        Path | None,
        typer.Option(
            "--variables",
            exists=True,
            help="TOML file: a table [NAME] for each variable, with shape, type, grid, attributes; coordinate = true; "
            "[attributes] of the stream, [time_attributes].",
        ),
    ] = None,
    steps: Annotated[int, typer.Option("--steps", min=1, help="Output steps.")] = 1,
    name: Annotated[str, typer.Option("--name", help="Name of the stream.")] = "history",
    choice: Annotated[list[str] | None, typer.Option("--set", help="KEY=VALUE of a layout key; repeatable.")] = None,
    svg: Annotated[Path | None, typer.Option("--svg", help="Write the picture to this file, as SVG.")] = None,
    as_json: output.AsJson = False,
) -> None:
    """What a layout would do: files, directories, writers, bytes and messages, as a table and a picture. Nothing is written.

    Examples: [bold]tailrace plan hds -n 64 -N 4 --shape T:180x360:f4[/] ·
    [bold]tailrace plan -n 1000000 -N 10000 --shape 4096x4096x1024 --grid 100x100x100 --set files=per-node[/] ·
    [bold]tailrace plan shared -n 8 --variables model.toml --steps 10 --svg plan.svg[/]
    """
    stream = read_planned_stream(variables, ranks) if variables is not None else PlannedStream()
    asked = parse_variables(shape or [], grid or [], ranks) + stream.variables
    if not asked:
        raise typer.BadParameter("a plan needs variables: --shape T:180x360:f4, or --variables FILE")
    answer = contract.plan(
        asked, ranks=ranks, nodes=nodes, steps=steps, name=name, layout=layout_of(layout, choice or []), **stream.words()
    )
    if svg is not None:
        svg.write_text(picture_svg(answer), encoding="utf-8")
    if as_json:
        output.print_json(answer)
        return
    _print(answer, svg)


def _print(answer: dict[str, Any], svg: Path | None) -> None:
    console = output.console()
    table = output.table("what", "how much")
    table.show_header = False
    for label, value in _lines(answer):
        table.add_row(label, output.escape(value))
    console.print(table)
    for note in answer["notes"]:
        console.print(output.plain(f"note: {note}"), markup=False, soft_wrap=True)
    console.print()
    console.print(picture(answer), markup=False, soft_wrap=True)
    if svg is not None:
        console.print(f"\npicture: {output.plain(str(svg))}", markup=False)


def _lines(answer: dict[str, Any]) -> list[tuple[str, str]]:
    share = answer["bytes_per_writer"]
    messages = output.count_text(answer["messages"])
    if answer["messages"]:
        messages += (
            f" ({output.bytes_text(answer['message_bytes'])}, the largest {output.bytes_text(answer['largest_message_bytes'])})"
        )
    return [
        ("ranks", f"{output.count_text(answer['ranks'])} on {output.count_text(answer['nodes'])} nodes"),
        ("steps", output.count_text(answer["steps"])),
        ("files", output.count_text(answer["files"])),
        (
            "directories",
            f"{output.count_text(answer['directories'])}, at most {answer['entries_per_directory_max']} entries in one",
        ),
        ("writers", output.count_text(answer["writers"])),
        ("bytes", output.bytes_text(answer["bytes"])),
        (
            "metadata",
            f"{output.bytes_text(answer['metadata_bytes'])}: headers, attributes, coordinates, indexes of chunks, checksums, gaps",
        ),
        (
            "index",
            f"{output.bytes_text(answer['index_bytes'])} in {output.count_text(answer['index_files'])} files"
            if answer["index_bytes"]
            else f"none beside {answer['parts'][0]['path']}",
        ),
        ("journal", output.bytes_text(answer["journal_bytes"])),
        (
            "on storage",
            f"{output.bytes_text(answer['stored']['bytes'])} in {output.count_text(answer['stored']['files'])} files",
        ),
        ("bytes a writer", f"{output.bytes_text(share['min'])} to {output.bytes_text(share['max'])}"),
        ("messages", messages),
    ]
