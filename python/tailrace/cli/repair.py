"""tailrace repair: repairs a damaged stream, so that it can be read and appended to."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from tailrace import contract
from tailrace.cli import output
from tailrace.cli.choices import OnlyStream, TakeOver


def command(
    directory: Annotated[Path, typer.Argument(help="Directory with streams.")],
    stream: OnlyStream = None,
    take_over: TakeOver = False,
    as_json: output.AsJson = False,
) -> None:
    """Repairs a damaged stream and reports what it did: drops steps with missing or damaged parts, and a torn end of the journal.

    Committed files are moved aside, not deleted. While a run writes the stream, the command refuses, and names that run. The exit
    status is 1 when something could not be repaired. `tailrace verify --deep` shows beforehand what is damaged.

    Examples: [bold]tailrace repair out[/] · [bold]tailrace repair out -s restart --json[/]
    """
    names = [stream] if stream is not None else [path.name.removesuffix(".parts") for path in sorted(directory.glob("*.parts"))]
    if not names:
        contract.list_streams(directory)  # raises NotFound with the library's text
    answers = {name: contract.repair(directory, name, take_over=take_over) for name in names}
    ok = all(answer["ok"] for answer in answers.values())
    if as_json:
        output.print_json({"ok": ok, "streams": answers})
    else:
        for name, answer in answers.items():
            _print(name, answer)
    raise typer.Exit(0 if ok else 1)


def _print(name: str, answer: dict[str, Any]) -> None:
    console = output.console()
    verdict = "[green]ok[/]" if answer["ok"] else "[bold red]still damaged[/]"
    done = "nothing to mend" if not answer["actions"] and answer["ok"] else f"{len(answer['actions'])} actions"
    console.print(f"{output.escape(name)}: {verdict}, {answer['steps']} steps, {done}")
    for action in answer["actions"]:
        steps = f" (steps {', '.join(map(str, action['steps']))})" if action["steps"] else ""
        console.print(output.plain(f"  {action['action']} {action['path']}{steps}: {action['why']}"), markup=False, soft_wrap=True)
    for problem in answer["problems"]:
        console.print(output.plain(f"  not mended: {problem['path']}: {problem['problem']}"), markup=False, soft_wrap=True)
