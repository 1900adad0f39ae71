"""Which nodes a command will have ranks on, and how they are reached: launchers' words, files and variables, and jobs of Slurm."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tailrace.launch.job_nodes import SHELL_OPTIONS, JobNodes, nodes_of

pytestmark = pytest.mark.fast

OPEN_MPI, MPICH = "mpirun.openmpi", "mpirun.mpich"
SSH = ("ssh", *SHELL_OPTIONS["ssh"])


def names(words: str, environment: dict[str, str] | None = None, folder: str = ".") -> tuple[str, ...]:
    return nodes_of(words.split(), environment or {}, folder).names


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (f"{OPEN_MPI} -n 4 --host n1,n2:2 ./model", ("n1", "n2")),
        (f"{OPEN_MPI} -H n1,n1,n2:* --bind-to none ./model", ("n1", "n2")),
        (f"{OPEN_MPI} --host=n1 --mca btl tcp,self -np 2 ./model", ("n1",)),
        (f"{OPEN_MPI} -n 1 --host n1 ./a : -n 1 --host n2 ./b --host other", ("n1", "n2")),
        (f"{OPEN_MPI} -n 4 ./model --host other", ()),
        (f"{OPEN_MPI} -n 4 ./model -host other", ()),
        (f"{OPEN_MPI} --host {os.uname().nodename},localhost ./model", ()),
        (f"{OPEN_MPI} --host user@n3 ./model", ("user@n3",)),
        (f"{OPEN_MPI} --hostfile hosts ./model", ("n1", "n2", "n3")),
        (f"{OPEN_MPI} -machinefile none ./model", ()),
        (f"{OPEN_MPI} --mca orte_default_hostfile hosts ./model", ("n1", "n2", "n3")),
        (f"{MPICH} -hosts n1:2,n2 -genv A b ./model -hosts other", ("n1", "n2")),
        (f"{MPICH} -f hosts -n 4 ./model", ("n1", "n2", "n3")),
        ("./model --host n1", ()),
        ("sh -c mpirun", ()),
    ],
)
def test_the_words_of_a_launcher(tmp_path: Path, words: str, expected: tuple[str, ...]) -> None:
    (tmp_path / "hosts").write_text("# all\nn1 slots=4\n\n  n2:8\n^left-out\nn3 # the last\nn1\n")
    assert names(words, folder=str(tmp_path)) == expected


@pytest.mark.parametrize(
    ("words", "variables", "expected"),
    [
        (f"{OPEN_MPI} ./model", {"OMPI_MCA_orte_default_hostfile": "hosts"}, ("n1", "n2")),
        (f"{OPEN_MPI} ./model", {"PRTE_MCA_prte_default_hostfile": "hosts"}, ("n1", "n2")),
        (f"{MPICH} ./model", {"HYDRA_HOST_FILE": "hosts"}, ("n1", "n2")),
        (f"{MPICH} -hosts n9 ./model", {"HYDRA_HOST_FILE": "hosts"}, ("n9",)),
        (f"{OPEN_MPI} ./model", {"PBS_NODEFILE": "hosts"}, ("n1", "n2")),
        ("./script", {"PBS_NODEFILE": "hosts"}, ("n1", "n2")),
        (f"{OPEN_MPI} --host n9 ./model", {"PBS_NODEFILE": "hosts"}, ("n9",)),
        ("./model", {"PBS_NODEFILE": "hosts", "OMPI_COMM_WORLD_SIZE": "2"}, ()),
        ("./model", {"PBS_NODEFILE": "hosts", "OMPI_COMM_WORLD_SIZE": "1"}, ("n1", "n2")),
    ],
)
def test_variables(tmp_path: Path, words: str, variables: dict[str, str], expected: tuple[str, ...]) -> None:
    (tmp_path / "hosts").write_text("n1\nn1\nn2\n")
    assert names(words, variables, str(tmp_path)) == expected


@pytest.mark.parametrize(
    ("words", "variables", "expected"),
    [
        (f"{OPEN_MPI} --host n1 a", {}, SSH),
        (f"{OPEN_MPI} --host n1 --mca plm_rsh_agent /bin/sh a", {}, ("/bin/sh",)),
        (f"{OPEN_MPI} --host n1 a", {"OMPI_MCA_plm_rsh_agent": "no-such-shell : /bin/sh -q"}, ("/bin/sh", "-q")),
        (f"{OPEN_MPI} --host n1 a", {"PRTE_MCA_plm_ssh_agent": "ssh -p 22"}, (*SSH, "-p", "22")),
        (f"{MPICH} -launcher-exec /bin/sh -hosts n1 a", {}, ("/bin/sh",)),
        (f"{MPICH} -hosts n1 a", {"HYDRA_LAUNCHER_EXEC": "/bin/sh"}, ("/bin/sh",)),
    ],
)
def test_the_remote_shell_is_the_launchers(words: str, variables: dict[str, str], expected: tuple[str, ...]) -> None:
    assert nodes_of(words.split(), variables).shell == expected


def test_a_remote_shell_gets_a_line_and_the_name_of_the_node(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LD_LIBRARY_PATH", "/a b")
    starts = list(JobNodes(("n1", "user@n2"), ("sh", "-q")).starts(["python", "-m", "x y"]))
    assert [start.names for start in starts] == [("n1",), ("user@n2",)]
    assert starts[1].words == ("sh", "-q", "user@n2", "env 'LD_LIBRARY_PATH=/a b' python -m 'x y' user@n2")


def slurm(folder: Path, text: str) -> dict[str, str]:
    """Variables of a job, and a scontrol that says this."""
    scontrol = folder / "scontrol"
    scontrol.write_text(f"#!/bin/sh\n[ \"$*\" = 'show hostnames n[1-3]' ] || exit 9\n{text}\n")
    scontrol.chmod(0o755)
    return {"PATH": f"{folder}:{os.environ['PATH']}", "SLURM_JOB_ID": "7", "SLURM_JOB_NODELIST": "n[1-3]"}


def test_a_job_of_slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job = slurm(tmp_path, "echo n1; echo n2; echo n3")
    monkeypatch.setenv("PATH", job["PATH"])
    assert nodes_of(["./script"], job) == JobNodes(("n1", "n2", "n3"), job="7")
    assert names("srun -n 6 ./model", {**job, "SLURMD_NODENAME": "n2"}) == ("n1", "n3")
    assert names(f"{OPEN_MPI} --host n1 ./model", job) == ("n1", "n2", "n3")
    assert names("./rank", {**job, "SLURM_STEP_NUM_TASKS": "6"}) == ()
    assert names("./rank", {**job, "SLURM_STEP_NUM_TASKS": "1"}) == ("n1", "n2", "n3"), "srun --pty bash"


def test_a_step_of_slurm_is_one_for_all_nodes_and_has_no_options_of_the_job(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"SLURM_MEM_PER_CPU": "100", "SLURM_CONF": "/c", "SLURM_TMPDIR": "/t", "SLURM_EXPORT_ENV": "NONE"}.items():
        monkeypatch.setenv(name, value)
    (start,) = JobNodes(("n1", "n2"), job="7").starts(["python"])
    assert start.words[0] == "srun"
    assert start.words[-1] == "python"
    assert {"--jobid=7", "--overlap", "--ntasks-per-node=1"} < set(start.words)
    assert start.words[start.words.index("--nodelist") + 1] == "n1,n2"
    kept = {name: value for name, value in start.environment.items() if name.startswith("SLURM")}
    assert kept == {"SLURM_CONF": "/c", "SLURM_TMPDIR": "/t"}


def test_a_job_whose_nodes_are_not_named_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job = slurm(tmp_path, "echo wrong >&2; exit 3")
    monkeypatch.setenv("PATH", job["PATH"])
    found = nodes_of(["./script"], job)
    assert found.names == ()
    assert found.problem == "scontrol does not name the nodes of job 7: wrong"
