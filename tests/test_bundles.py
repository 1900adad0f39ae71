"""`tailrace ls` and `tailrace extract` on bundles that a drain has made: the same files as tar's, and nothing else."""

from __future__ import annotations

import json
import os
import random
import subprocess
import tarfile
from pathlib import Path

import pytest
from tailrace.stage.bundles import contents, extract, members
from tailrace.stage.drain import StageError

from tests.drain_states import DrainCase, files_below, make_files


@pytest.fixture(params=["bundle", "zstd"])
def bundle(request: pytest.FixtureRequest, build_dir: Path, tmp_path: Path, rng: random.Random) -> Path:
    (tmp_path / "scratch").mkdir(mode=0o700)
    case = DrainCase(build_dir / "bin/tailraced", Path(), tmp_path / "scratch", tmp_path / "target", request.param, ())
    make_files(case.scratch, rng)
    (case.scratch / "space and ü").write_text("with a space")
    (case.scratch / "large").write_bytes(rng.randbytes(100_000) * 33)  # its frames begin and end within files
    (case.scratch / "largest").write_bytes(rng.randbytes(9 << 20))  # more than the drain has in memory
    assert case.drain().returncode == 0
    (made,) = case.target.iterdir()
    return made


ATTRIBUTES = {"user.plain": b"1", "user.a=b%c": b"any\n\0byte", "user.empty": b"", "user.späte": b"x" * 3000}


def attributes_of(path: Path) -> dict[str, bytes]:
    return {name: os.getxattr(path, name) for name in os.listxattr(path)}


def test_extended_attributes_are_those_of_the_file_by_tar_and_by_extract(
    tailrace_command: list[str], build_dir: Path, tmp_path: Path
) -> None:
    scratch, target = tmp_path / "scratch", tmp_path / "target"
    scratch.mkdir(mode=0o700)
    for name in ("a", "c" * 120):
        (scratch / name).write_text(name)
        for attribute, value in ATTRIBUTES.items():
            os.setxattr(scratch / name, attribute, value)
    (scratch / "b").write_text("none")
    (scratch / "read only").write_text("closed")
    os.setxattr(scratch / "read only", "user.x", b"1")
    (scratch / "read only").chmod(0o444)
    os.link(scratch / "a", scratch / "same as a")
    # What GNU tar itself writes for these files.
    subprocess.run(["tar", "--xattrs", "-C", scratch, "-cf", tmp_path / "by tar.tar", "a", "c" * 120], check=True)
    with tarfile.open(tmp_path / "by tar.tar") as tar:
        expected = {member.name: xattr_headers(member) for member in tar}
    call(tailrace_command, "drain", "copy", scratch, target, "--bundle")
    (bundle,) = target.glob("*.tar")
    with tarfile.open(bundle) as tar:
        found = {member.name: xattr_headers(member) for member in tar}
    assert len(expected["a"]) == len(ATTRIBUTES)
    assert {name: found[name] for name in expected} == expected
    (tmp_path / "tar").mkdir()
    subprocess.run(["tar", "--xattrs", "-C", tmp_path / "tar", "-xf", bundle], check=True)
    call(tailrace_command, "extract", bundle, "--all", "--into", tmp_path / "out")
    for folder in (tmp_path / "tar", tmp_path / "out"):
        for name in ("a", "c" * 120, "same as a"):
            assert attributes_of(folder / name) == ATTRIBUTES
        assert attributes_of(folder / "b") == {}
        assert attributes_of(folder / "read only") == {"user.x": b"1"}
        assert (folder / "read only").stat().st_mode & 0o777 == 0o444


def xattr_headers(member: tarfile.TarInfo) -> dict[str, str]:
    return {key: value for key, value in member.pax_headers.items() if key.startswith("SCHILY.xattr.")}


def call(command: list[str], *words: str | Path, status: int = 0) -> str:
    done = subprocess.run([*command, *map(str, words)], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr.replace("\n", "")


def by_tar(bundle: Path, folder: Path) -> Path:
    folder.mkdir()
    subprocess.run(["tar", "-C", folder, "-xf", bundle], check=True)
    return folder


def test_all_files_are_those_of_tar(tailrace_command: list[str], bundle: Path, tmp_path: Path) -> None:
    expected = by_tar(bundle, tmp_path / "tar")
    call(tailrace_command, "extract", bundle, "--all", "--into", tmp_path / "out")
    assert files_below(tmp_path / "out") == files_below(expected)
    for name in files_below(expected):
        own, other = (os.lstat(os.path.join(os.fsencode(folder), name)) for folder in (tmp_path / "out", expected))
        assert own.st_mode == other.st_mode
        assert own.st_nlink == other.st_nlink, "hard links stay hard links"
        assert int(own.st_mtime) == int(other.st_mtime)
    answer = json.loads(call(tailrace_command, "ls", bundle, "--json"))
    assert len(answer["files"]) == answer["members"]
    listing = subprocess.run(["tar", "-tf", bundle, "--quoting-style=literal"], capture_output=True, check=True).stdout
    assert listing.count(b"space and") == 1
    assert {file["bytes"] for file in answer["files"] if file["name"] == "space and ü"} == {12}


def test_one_file_is_listed_and_extracted_and_never_replaced(tailrace_command: list[str], bundle: Path, tmp_path: Path) -> None:
    name, out = "space and ü", tmp_path / "out"
    assert "12  space and ü" in call(tailrace_command, "ls", bundle, name)
    answer = json.loads(call(tailrace_command, "extract", bundle, name, "--into", out, "--json"))
    assert (answer["files"], answer["bytes"]) == (1, 12)
    assert files_below(out) == {name.encode(): b"with a space"}
    (out / name).write_text("mine")
    said = call(tailrace_command, "extract", bundle, name, "--into", out, status=2)
    assert "is there already and was not replaced: remove it, or name another folder with --into" in said
    assert files_below(out) == {name.encode(): b"mine"}


def test_the_contents_are_those_of_tar(bundle: Path, tmp_path: Path) -> None:
    expected = by_tar(bundle, tmp_path / "tar")
    found = [(member, b"".join(pieces)) for member, pieces in contents(bundle)]
    files = {os.fsencode(member["name"]): content for member, content in found if member["type"] in ("file", "hard_link")}
    links = {member["name"]: member["link"] for member, _ in found if member["type"] == "symbolic_link"}
    below = files_below(expected)
    assert files == {name: below[name] for name in files}
    assert {*files, *map(os.fsencode, links)} == {*below}
    assert links == {name: os.readlink(expected / name) for name in links}
    kinds = [member["type"] for member, _ in found]
    assert kinds == sorted(kinds, key=lambda kind: kind != "folder"), "folders come first"
    at = [member["data_at"] for member, _ in found if member["type"] == "file"]
    assert at == sorted(at), "in the order of the bundle"
    assert [member["name"] for member, _ in contents(bundle)] == [member["name"] for member, _ in found], "none was read"


@pytest.mark.parametrize("wanted", [["l1", "l2"], ["l2"], ["l2", "f", "l1"], ["f", "l1"]], ids=" ".join)
def test_names_of_one_file_are_extracted_with_and_without_the_first(
    tailrace_command: list[str], tmp_path: Path, wanted: list[str]
) -> None:
    scratch, target, out = tmp_path / "scratch", tmp_path / "target", tmp_path / "out"
    scratch.mkdir(mode=0o700)
    (scratch / "f").write_text("one file")
    for name in ("l1", "l2"):
        os.link(scratch / "f", scratch / name)
    call(tailrace_command, "drain", "copy", scratch, target, "--bundle")
    (bundle,) = target.glob("*.tar")
    call(tailrace_command, "extract", bundle, *wanted, "--into", out)
    assert files_below(out) == {name.encode(): b"one file" for name in wanted}
    assert len({(out / name).stat().st_ino for name in wanted}) == 1, "they are one file"


def test_what_is_no_bundle_or_damaged_is_refused(tailrace_command: list[str], bundle: Path, tmp_path: Path) -> None:
    plain = tmp_path / "plain.tar"
    subprocess.run(["tar", "-C", bundle.parent, "-cf", plain, "."], check=True)
    assert "it has no index at its end; `tar -tf` lists other tar files" in call(tailrace_command, "ls", plain, status=2)
    assert "has no none: `tailrace ls" in call(tailrace_command, "extract", bundle, "none", "--into", tmp_path / "out", status=2)
    assert "name the files to extract" in " ".join(call(tailrace_command, "extract", bundle, status=2).split())
    whole = bundle.read_bytes()
    ((member,), _) = members(bundle, ["space and ü"])
    # A byte of the file, or of the first frame.
    damage = (member["data_at"] + 3, "their checksum is another") if bundle.suffix == ".tar" else (1000, "are damaged: zstd")
    for place, text in (
        damage,
        (len(whole) - 80, "its index is damaged"),
        (len(whole) - 20, "64 bytes"),
    ):
        bundle.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with pytest.raises(StageError, match=text):
            extract(bundle, tmp_path / "out", ["space and ü"] if place != 1000 else ["-dash"])
        assert files_below(tmp_path / "out") == {}
        with pytest.raises(StageError, match=text):
            all(contents(bundle))
    for length in (0, 63, len(whole) // 2, len(whole) - 1):
        bundle.write_bytes(whole[:length])
        with pytest.raises(StageError, match="no bundle of"):
            members(bundle)
