"""Starting programs: the one list of launchers and MPIs, and the commands that start ranks.

- launchers: the programs that start ranks, and the variables in which they give a rank its number
- mpi: each MPI's launcher: its name, its words and variables; to add an MPI, add its line in MPIS
- local: ranks on this machine, by the `mpirun` on the PATH
- placement: how many ranks each node takes
- job_nodes: the nodes on which a command will start ranks, and how they are reached
- nodes: ranks on several nodes, by mpirun over a remote shell or by Slurm's srun
"""
