"""Finds the nodes on which a command will start ranks, and how to reach them: from the job of Slurm, or from the words, files and
variables of the command's launcher."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tailrace.launch.mpi import NodeWords, mpi_of
from tailrace.launched import launched_together

SHELL = "ssh"
# ssh must not ask the user for a password, and must notice within a minute that a node does not answer.
SHELL_OPTIONS = {"ssh": ("-x", "-T", "-o", "BatchMode=yes", "-o", "ServerAliveInterval=15", "-o", "ServerAliveCountMax=4")}
OF_THIS_NODE = ("localhost", "127.0.0.1", "::1")
NODE_FILE = "PBS_NODEFILE"  # a node on each line, once for each of its ranks
SLURM_NODE = "SLURMD_NODENAME"  # Slurm's name of the node of a process
KEPT_OF_SLURM = ("SLURM_CONF", "SLURM_TMPDIR")
SCONTROL_TIMEOUT_S = 20
VARIABLES = ("LD_LIBRARY_PATH",)  # a program may need them to start, and a remote shell does not pass them on


@dataclass(frozen=True)
class JobNodes:
    """The nodes of a command's ranks, without the node of this process. No names: all ranks are here, or their nodes are not
    known."""

    names: tuple[str, ...] = ()  # as the launcher or Slurm has them
    shell: tuple[str, ...] = ()  # the command of the remote shell; (): a step of the job reaches the nodes
    job: str = ""  # the number of the job of Slurm
    problem: str = ""  # why the nodes are not known

    def starts(self, words: Sequence[str]) -> Iterator[Start]:
        """The commands to start here, so that `words` run once on each node. By a remote shell, `words` get the name of the node
        as their last word. In a step of Slurm, which is one command for all nodes, the variable SLURMD_NODENAME has the name."""
        if not self.names:
            return
        if not self.shell:
            yield Start(self.names, (*_step(self.job, self.names), *words), _without_job(os.environ))
            return
        settings = [f"{name}={os.environ[name]}" for name in VARIABLES if os.environ.get(name)]
        for name in self.names:
            line = shlex.join(["env", *settings, *words, name] if settings else [*words, name])
            yield Start((name,), (*self.shell, name, line), dict(os.environ))


@dataclass(frozen=True)
class Start:
    """A command that starts a program on nodes."""

    names: tuple[str, ...]
    words: tuple[str, ...]
    environment: Mapping[str, str]


def nodes_of(command: Sequence[str], environment: Mapping[str, str] = os.environ, folder: str = ".") -> JobNodes:
    """The nodes of a command. `folder`: the folder in which it will run, for relative paths of host files."""
    if launched_together(environment) is not None:
        return JobNodes()  # this process is a rank: each rank would start agents on all nodes
    if environment.get("SLURM_JOB_ID") and environment.get("SLURM_JOB_NODELIST"):
        return _nodes_of_job(environment)
    mpi = mpi_of(command[0]) if command else None
    given = _Given(mpi.node_words, environment, folder) if mpi is not None else None
    if given is not None:
        given.read(command[1:])
    names = given.names if given is not None else []
    if not names and environment.get(NODE_FILE):
        names = _in_file(environment[NODE_FILE], folder)
    shell = _shell((given.shell if given is not None else "") or SHELL)
    others = tuple(name for name in dict.fromkeys(names) if not _is_here(name))
    return JobNodes(others, shell) if others else JobNodes()


def _is_here(name: str) -> bool:
    own = os.uname().nodename
    return name.rpartition("@")[2] in (own, own.partition(".")[0], *OF_THIS_NODE)


# ---- Slurm ----------------------------------------------------------------------------------------------------------------------


def _nodes_of_job(environment: Mapping[str, str]) -> JobNodes:
    job, listed = environment["SLURM_JOB_ID"], environment["SLURM_JOB_NODELIST"]
    try:
        done = subprocess.run(
            ["scontrol", "show", "hostnames", listed],
            env=dict(environment),
            capture_output=True,
            text=True,
            timeout=SCONTROL_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return JobNodes(problem=f"scontrol does not name the nodes of job {job}: {error}")
    if done.returncode != 0:
        return JobNodes(problem=f"scontrol does not name the nodes of job {job}: {done.stderr.strip()}")
    here = environment.get(SLURM_NODE)
    return JobNodes(tuple(name for name in done.stdout.split() if name != here and not _is_here(name)), job=job)


def _step(job: str, names: Sequence[str]) -> list[str]:
    """The command of a step that shares all resources with other steps. If a node fails, the step continues on the other nodes."""
    count = str(len(names))
    words = ["srun", f"--jobid={job}", "--overlap", "--nodes", count, "--ntasks", count, "--ntasks-per-node=1"]
    words += ["--nodelist", ",".join(names), "--mem=0", "--cpu-bind=none", "--mpi=none", "--export=ALL"]
    return [*words, "--kill-on-bad-exit=0", "--no-kill", "--wait=0", "--input=all", "--job-name=tailrace", "--quiet"]


def _without_job(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment without variables that srun takes as options: those of the job are for its ranks."""
    of_job = ("SLURM_", "SBATCH_", "SALLOC_", "SRUN_")
    return {name: value for name, value in environment.items() if not name.startswith(of_job) or name in KEPT_OF_SLURM}


# ---- launchers ------------------------------------------------------------------------------------------------------------------


@dataclass
class _Given:
    """The nodes and the remote shell that a launcher's words and variables name."""

    words: NodeWords
    environment: Mapping[str, str]
    folder: str
    names: list[str] = field(default_factory=list)
    shell: str = ""

    def read(self, command: Sequence[str]) -> None:
        settings: dict[str, str] = {}
        words = self.words
        at, is_behind_option = 0, False
        while at < len(command):
            option, has_value, value = command[at].partition("=")
            behind, at = at + 1, at + 1
            if option in words.pairs:
                settings.update([(command[behind], command[behind + 1])] if behind + 1 < len(command) else [])
                at += 2
            elif option in words.hosts | words.host_files | words.shells:
                self._take(option, value if has_value else "".join(command[behind : behind + 1]))
                at += 0 if has_value else 1
            elif not option.startswith("-") and not is_behind_option:
                at = self._next_program(command, behind)
            # RATIONALE: which other options have values is not known. So a word behind an option is not the program.
            is_behind_option = option.startswith("-") and not has_value and at == behind
        self._take_variables(settings)

    def _take(self, option: str, value: str) -> None:
        if option in self.words.hosts:
            self.names += [_name(one) for one in value.split(",") if one]
        elif option in self.words.host_files:
            self.names += _in_file(value, self.folder)
        else:
            self.shell = value

    @staticmethod
    def _next_program(command: Sequence[str], at: int) -> int:
        """The index behind the next colon, where the options of another program begin."""
        while at < len(command) and command[at] != ":":
            at += 1
        return at + 1

    def _take_variables(self, settings: Mapping[str, str]) -> None:
        def value_of(variables: Sequence[str]) -> str:
            by_option = (settings.get(name.partition("_MCA_")[2], "") for name in variables)
            by_variable = (self.environment.get(name, "") for name in variables)
            return next(filter(None, (*by_option, *by_variable)), "")

        self.shell = self.shell or value_of(self.words.shell_variables)
        if not self.names and (file := value_of(self.words.host_file_variables)):
            self.names = _in_file(file, self.folder)


def _name(written: str) -> str:
    """The node in a word of a list: n1:4 is n1 with four ranks."""
    name, _, ranks = written.rpartition(":")
    return name if name and (ranks.isdecimal() or ranks in ("*", "-1")) else written


def _in_file(path: str, folder: str) -> list[str]:
    """The nodes in a host file: the first word of each line. None if the file cannot be read: the launcher fails, too, and says
    so."""
    try:
        lines = Path(folder, path).read_text(errors="replace").splitlines()
    except OSError:
        return []
    words = (line.partition("#")[0].split() for line in lines)
    return [_name(found[0]) for found in words if found and not found[0].startswith("^")]


def _shell(written: str) -> tuple[str, ...]:
    """The command of a remote shell. Open MPI may have several with colons between them (ssh : rsh): the first that is on the
    PATH."""
    choices = [words for one in written.split(" : ") if (words := shlex.split(one))]
    words = next((words for words in choices if shutil.which(words[0])), choices[0] if choices else [SHELL])
    return (words[0], *SHELL_OPTIONS.get(Path(words[0]).name, ()), *words[1:])
