"""`make lint` and, with --fix, `make format`: all checks of the sources; every one runs, also after one has failed."""

from __future__ import annotations

import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from sources import ROOT, sources

BIN = Path(sys.executable).parent
SHOWN_LINES = 40


@dataclass(frozen=True)
class Check:
    name: str
    command: tuple[str, ...]
    fix: tuple[str, ...] = ()  # command that corrects the files; empty: a person must do it


def checks() -> list[Check]:
    python = sys.executable
    c = [str(path) for path in sources("*.c", "*.cpp", "*.h", "*.hpp")]
    cmake = [str(path) for path in sources("*CMakeLists.txt", "*.cmake")]
    typed = sorted({path.parts[0] for path in sources("python/*.py", "scripts/*.py", "tests/*.py", "bench/*.py", "kernels/*.py")})
    ruff, clang_format, gersemi = str(BIN / "ruff"), str(BIN / "clang-format"), str(BIN / "gersemi")
    return [
        Check("C and C++ format", (clang_format, "--dry-run", "--Werror", *c), (clang_format, "-i", *c)),
        Check("CMake format", (gersemi, "--check", *cmake), (gersemi, "--in-place", *cmake)),
        Check("Python format", (ruff, "format", "--check", "."), (ruff, "format", ".")),
        Check("Python rules", (ruff, "check", "."), (ruff, "check", "--fix", ".")),
        Check("Python types", (python, "-m", "mypy", *typed)),
        Check("direction of dependency", (python, "scripts/check_direction.py")),
        Check("environment variables", (python, "scripts/check_variables.py")),
        Check("public headers alone", (python, "scripts/check_headers.py")),
        Check("files: length, names, columns", (python, "scripts/check_files.py")),
        Check("commands in messages", (python, "scripts/check_remedies.py")),
        Check("links", (python, "scripts/check_links.py")),
        Check("plain English", (python, "scripts/check_language.py")),
        Check("size of classes", (python, "scripts/check_classes.py")),
    ]


def run(check: Check, fix: bool) -> bool:
    start = time.monotonic()
    command = check.fix if fix else check.command
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    verdict = "ok" if done.returncode == 0 else "FAILED"
    lines = done.stdout.splitlines()
    if done.returncode == 0:
        lines = [line for line in lines if line.startswith("note:")]
    shown = "".join(f"  {line}\n" for line in lines[:SHOWN_LINES])
    if len(lines) > SHOWN_LINES:
        shown += f"  ... and {len(lines) - SHOWN_LINES} more lines\n"
    print(f"{verdict:6} {check.name} ({time.monotonic() - start:.1f} s)\n{shown}", end="", flush=True)
    return done.returncode == 0


def main() -> int:
    fix = "--fix" in sys.argv[1:]
    wanted = [check for check in checks() if check.fix or not fix]
    # With --fix, the checks run one after another, because two tools may change the same file.
    with ThreadPoolExecutor(max_workers=1 if fix else 2) as pool:
        results = list(pool.map(lambda check: run(check, fix), wanted))
    if not all(results):
        print("lint: `make format` corrects the formats; correct the other problems by hand" if not fix else "format: see above")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
