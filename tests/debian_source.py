"""Sources of Debian packages, fetched by apt with lists and a cache in a folder of their own: no setting of the machine changes."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import NoReturn

import pytest

from tests.mpirun import run_within

KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
TIMEOUT_S = 120


def fetch_source(package: str, folder: Path) -> Path:
    """What the authors of `package` published, unpacked in `folder`; without Debian's changes to it."""
    if shutil.which("apt-get") is None:
        if os.environ.get("CI"):
            fail(package, "there is no apt-get")
        pytest.skip("there is no apt-get")
    for part in ("lists/partial", "cache/archives/partial", "source"):
        (folder / part).mkdir(parents=True)
    mirrors = folder / "mirrors.list"
    mirrors.write_text(source_lines(package))
    settings = {
        "Dir::Etc::sourcelist": mirrors,
        "Dir::Etc::sourceparts": "-",
        "Dir::State::lists": folder / "lists",
        "Dir::Cache": folder / "cache",
        "APT::Sandbox::User": "root",  # the folder need not be open to apt's own user
        "Acquire::Retries": "3",
        "APT::Update::Error-Mode": "any",  # a mirror that is not reached fails the update
    }
    options = [word for key, value in settings.items() for word in ("-o", f"{key}={value}")]
    for words in (["update"], ["source", "--tar-only", package]):
        done = run_within(["apt-get", *options, *words], timeout_s=TIMEOUT_S, cwd=folder / "source")
        if done.returncode != 0:
            fail(package, done.output)
    (archive,) = (folder / "source").glob("*.orig.tar.*")
    unpacked = run_within(["tar", "-xf", str(archive)], timeout_s=TIMEOUT_S, cwd=folder / "source")
    assert unpacked.returncode == 0, unpacked.output
    return next(path for path in (folder / "source").iterdir() if path.is_dir())


def source_lines(package: str) -> str:
    """The machine's own Debian mirrors once more, for sources."""
    line = f"deb-src [signed-by={KEYRING}] $(REPO_URI) $(RELEASE) main"
    known = run_within(["apt-get", "indextargets", "--format", line, "Identifier: Packages", "Origin: Debian"], timeout_s=TIMEOUT_S)
    lines = sorted(set(known.stdout.splitlines()))
    if not lines:
        fail(package, f"apt knows no Debian mirror: run `apt-get update`\n{known.output}")
    return "\n".join(lines) + "\n"


def fail(package: str, why: str) -> NoReturn:
    pytest.fail(f"the source of Debian's {package} cannot be fetched: {why}", pytrace=False)
