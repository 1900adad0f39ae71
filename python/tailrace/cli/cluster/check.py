"""tailrace cluster check: whether this machine can have a cluster."""

from __future__ import annotations

import dataclasses

import typer

from tailrace.cli import output
from tailrace.cluster.check import every_need


def command(as_json: output.AsJson = False) -> None:
    """Lists the rights, kernel features and programs that clusters need, with a remedy for each that is missing.

    The exit status is 1 when one is missing that nothing replaces. `tailrace cluster up` needs only those that its options use.

    Examples: [bold]tailrace cluster check[/] · [bold]tailrace cluster check --json[/]
    """
    needs = list(every_need())
    if as_json:
        output.print_json({"needs": [{**dataclasses.asdict(need), "there": need.there} for need in needs]})
    else:
        shown = output.table("", "for", "")
        for need in needs:
            shown.add_row(need.name, need.for_what, "[green]there[/]" if need.there else output.escape(need.reason))
        output.console().print(shown)
    raise typer.Exit(0 if all(need.there or need.replaceable for need in needs) else 1)
