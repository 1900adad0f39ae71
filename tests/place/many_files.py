"""Makes, appends, renames, replaces and removes files beside other processes, and compares what it sees with what it has done:
many_files.py NUMBER STEPS. At the end expected.NUMBER.json has what its files should hold."""

from __future__ import annotations

import json
import os
import random
import sys
from pathlib import Path


def main(number: int, steps: int) -> None:
    draw = random.Random(number)
    mine: dict[str, str] = {}
    Path("out/shared").mkdir(parents=True, exist_ok=True)
    own = Path(f"out/own{number}")
    own.mkdir()
    for step in range(steps):
        name = f"out/shared/{number}.{draw.randrange(12)}" if draw.random() < 0.5 else f"{own}/{draw.randrange(12)}"
        match draw.randrange(9):
            case 0 | 1 | 2:
                mine[name] = f"{number}-{step}"
                Path(name).write_text(mine[name])
            case 3 if name in mine:
                with open(name, "a", encoding="utf-8") as file:
                    file.write("+")
                mine[name] += "+"
            case 4 if name in mine:
                os.unlink(name)
                del mine[name]
            case 5 if mine:
                old = draw.choice(sorted(mine))
                os.rename(old, name)
                mine[name] = mine.pop(old)
            case 6:
                pending = f"out/pending{number}"
                Path(pending).write_text(f"replaced {step}")
                os.replace(pending, name)
                mine[name] = f"replaced {step}"
            case 7 if name in mine:
                assert Path(name).read_text() == mine[name], name
            case 8:
                seen = {f"out/shared/{entry}" for entry in os.listdir("out/shared") if entry.startswith(f"{number}.")}
                assert seen == {path for path in mine if path.startswith("out/shared")}
                moved = Path(f"out/moved{number}")
                own.rename(moved)
                moved.rename(own)
    Path(f"expected.{number}.json").write_text(json.dumps(mine))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]))
