"""Real programs, as they are: the same results plainly, with all their files in trees, and with all their files on scratch."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from tailrace.compare.outputs import Entry, outputs_of
from tailrace.place.compiled import compiled
from tailrace.place.mapping import Mapping
from tailrace.place.rules import read_rules

TREE = '[[place.tree]]\nfiles = "run/**/{any}"\nto = ".t{hash%16}"\n'
STAGE = '[stage]\nfiles = ["run/**"]\nscratch = "SCRATCH"\nmin_free = "1 B"\n'
WAYS = ("tree", "stage")
# Behind the program: what is physically in its folder. `find` must see no rules, so it has none of their variables.
THEN_FIND = 'sh "$0" && env -u LD_PRELOAD -u TAILRACE_PLACE find . -type f > ../physical'

SCIENCE = """
import h5py, netCDF4, numpy, os, sqlite3
os.makedirs("out", exist_ok=True)
with h5py.File("out/a.h5", "w") as file:
    file["x"] = numpy.arange(1000.0)
with h5py.File("out/a.h5", "r+") as file:
    file["x"][3] = 7; print(file["x"][:].sum())
for mode in ("w", "a"):
    with netCDF4.Dataset("out/b.nc", mode) as file:
        if mode == "w":
            file.createDimension("t", None); file.createVariable("v", "f8", ("t",))
        n = len(file["v"]); file["v"][n:n + 5] = numpy.arange(5); print(file["v"][:].tolist())
base = sqlite3.connect("out/c.db")
base.execute("create table t (a)")
for n in range(5):
    with base:
        base.execute("insert into t values (?)", (n,))
base.close()
base = sqlite3.connect("out/c.db"); print(base.execute("select sum(a) from t").fetchall()); base.execute("vacuum"); base.close()
print(sorted(os.listdir("out")))
"""
CDO = """
cdo -s --no_history -f nc -sin -topo,r36x18 first.nc
cdo -s --no_history -f nc4 -z zip add first.nc -mulc,2 first.nc sum.nc
cdo -s --no_history splitlevel -merge first.nc sum.nc level.
cdo -s --no_history remapbil,r9x5 sum.nc coarse.nc
cdo -s infon first.nc sum.nc coarse.nc | sed 's/20..-..-.. ..:..:..//'; ls
"""
GIT = """
export HOME=$PWD GIT_AUTHOR_DATE='@1000 +0000' GIT_COMMITTER_DATE='@1000 +0000' GIT_CONFIG_NOSYSTEM=1
git init -q -b main origin; cd origin; git config user.email a@b; git config user.name n
for n in 1 2 3; do mkdir -p d$n; echo $n > d$n/f; git add .; git commit -qm $n; done
git mv d1 e; git commit -qm moved; git gc -q; git tag old HEAD~2; cd ..
git clone -q origin copy; cd copy; git checkout -q old; ls; git checkout -q -b side; echo side > d2/f
git config user.email a@b; git config user.name n; git commit -qam side; git checkout -q main; git merge -q -m both side
git status --porcelain; git log --format=%H%s; git fsck --strict; cat d2/f; git push -q origin side; git -C ../origin branch
"""
SQLITE = """
sqlite3 a.db "pragma journal_mode=wal; create table t (a integer primary key, b text); insert into t (b) values ('one'), ('two');"
for n in 1 2 3 4 5; do sqlite3 a.db "begin; insert into t (b) select b || a from t; commit;"; done
sqlite3 a.db "create index i on t (b); delete from t where a % 3 = 0; vacuum; pragma integrity_check"
sqlite3 a.db "select count(*), max(b) from t"
sqlite3 a.db "vacuum into 'b.db'"; sqlite3 b.db .dump > b.sql; sqlite3 c.db < b.sql; sqlite3 c.db ".backup d.db"
sqlite3 d.db "attach 'a.db' as a; select count(*) from t join a.t as o using (a, b); pragma journal_mode=delete"; ls
"""
TAR = """
mkdir -p src/d/e out; for n in 1 2 3; do echo $n > src/d/f$n; done; chmod 600 src/d/f1; touch -d @1000000 src/d/f2
ln -s f1 src/d/link; ln src/d/f2 src/d/hard
chown -R 12:34 src/d/e; chown 56 src/d/f3; touch -h -d @3000 src/d/e src/d/f1 src/d/f3 src/d/link
touch -d @2000 src/d
tar --sort=name -cf all.tar -C src d; tar -xpf all.tar -C out; tar --sort=name -cf out/again.tar -C out d
tar -tvf out/again.tar --numeric-owner | sort
cp -a out/d out/copy; diff -r --no-dereference out/d out/copy && find out/d -printf '%p %m %U %G %s %T@\\n' | sort
"""
GCC = """
mkdir out; cd out; echo '#include <stdio.h>
int main(void) { puts("compiled"); return 0; }' > a.c
gcc -c a.c -o a.o; ar rcs lib.a a.o; gcc a.o -o a.out; ./a.out; exec ./a.out
"""
# Lennard-Jones atoms: each rank writes a dump and a restart file of its own; a second run goes on from the latter.
LAMMPS = """
printf '%s\\n' 'units lj' 'atom_style atomic' 'lattice fcc 0.8442' 'region box block 0 6 0 6 0 6' 'create_box 1 box' \\
  'create_atoms 1 box' 'mass 1 1.0' 'velocity all create 3.0 87287' 'pair_style lj/cut 2.5' 'pair_coeff 1 1 1.0 1.0 2.5' \\
  'fix 1 all nve' 'dump d all custom 5 dump.%.* id x y z' 'restart 5 restart.%.*' 'run 10' > first.in
printf '%s\\n' 'read_restart restart.%.5' 'pair_style lj/cut 2.5' 'pair_coeff 1 1 1.0 1.0 2.5' 'fix 1 all nve' \\
  'dump d all custom 5 again.%.* id x y z' 'restart 5 next.%.*' 'run 5' > second.in
mpirun -n 2 lmp -in first.in -log none -screen none && mpirun -n 2 lmp -in second.in -log none -screen none && ls
"""

# Flow in a cavity: each rank has a folder, with a folder for each time written. A second run goes on from the last of them.
OPENFOAM = Path(__file__).with_name("openfoam.sh").read_text()


@dataclass(frozen=True)
class Program:
    script: str
    needs: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()  # names of files that have times, inodes or process numbers in them
    with_times: str = ""  # names begin so that the program gives owners and times

    def words(self, folder: Path) -> list[str]:
        """Of a shell that runs the script, which is beside the folder."""
        path = folder.parent / "script"
        path.write_text(f"set -e\n{self.script}" if self.script is not SCIENCE else f"exec {sys.executable} -c '{self.script}'\n")
        return ["sh", "-c", THEN_FIND, str(path)]


PROGRAMS = {
    "cdo": Program(CDO, ("cdo",)),
    "h5py, netCDF4, sqlite3 of Python": Program(SCIENCE),
    "git": Program(GIT, ("git",), ("index",)),
    "sqlite3": Program(SQLITE, ("sqlite3",)),
    "tar and cp": Program(TAR, ("tar",), with_times="out/d"),
    "gcc": Program(GCC, ("gcc",)),
    "LAMMPS": Program(LAMMPS, ("lmp", "mpirun")),
    "OpenFOAM": Program(OPENFOAM, ("icoFoam", "mpirun")),
}


def started(words: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "TZ": "UTC", "LC_ALL": "C"}
    return subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=120)


def left_in(folder: Path, mapping: Mapping, program: Program) -> dict[str, tuple[Entry, tuple[int, ...]]]:
    """By the names that the program sees: what is there; of what it has given owners and times, those, too."""
    outputs = outputs_of(folder, {}, mapping)
    assert not outputs.ambiguous
    found: dict[str, tuple[Entry, tuple[int, ...]]] = {}
    for name, entry in outputs.entries.items():
        placed = mapping.physical(str(folder / name))
        path = Path(placed[0]) if placed is not None and os.path.lexists(placed[0]) else folder / name
        of = path.lstat()
        has_times = program.with_times != "" and name.startswith(program.with_times)
        if path.name not in program.left_out:
            found[name] = entry, (of.st_uid, of.st_gid, int(of.st_mtime)) if has_times else ()
    return found


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_results_are_the_same(tailrace_command: list[str], tmp_path: Path, needs: Callable[..., None], name: str, way: str) -> None:
    program = PROGRAMS[name]
    needs(*program.needs)
    top, plain, scratch = tmp_path / "top", tmp_path / "plain", tmp_path / "scratch"
    scratch.mkdir()
    folder, config = top / "run", top / "tailrace.toml"
    folder.mkdir(parents=True)
    without = started(program.words(folder), folder)
    assert without.returncode == 0, without.stderr
    top.rename(plain)  # both run under one path, which programs write into their files
    folder.mkdir(parents=True)
    config.write_text(TREE if way == "tree" else STAGE.replace("SCRATCH", str(scratch)))
    options = ["--config", str(config), "--no-follow", *(["--no-trace"] if way == "tree" else ["--log", str(tmp_path / "log")])]
    done = started([*tailrace_command, "run", *options, "--", *program.words(folder)], folder)
    assert (done.stdout, done.returncode) == (without.stdout, 0), done.stderr
    expected = left_in(plain / "run", Mapping(compiled(())), program)
    assert any(entry.kind == "file" for entry, _ in expected.values())
    assert left_in(folder, Mapping(compiled(read_rules(config))), program) == expected
    physical = (top / "physical").read_text().splitlines()
    if way == "stage":
        assert physical == [], "all files of the program were on scratch"
        assert not list(scratch.iterdir()), done.stderr
    else:
        assert physical
        assert [path for path in physical if not Path(path).parent.name.startswith(".t")] == [], "all are in trees"
