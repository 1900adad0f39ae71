"""The texts of `tailrace --help`: the purpose of the program, and a sentence for each command."""

ABOUT = "Named distributed arrays to plain files, under a layout that is one line of configuration."
EXIT_STATUS = "Exit status: 0, done; 1, the command found a problem; 2, an error, whose message says how to correct it."

# To add a command NAME: write NAME.py with `def command(...)`, or with `group = typer.Typer(...)`, and add it here, in the order of
# --help. The help text of the command must begin with the sentence given here.
# RATIONALE: --help reads only this list, because importing Typer and the modules of all commands takes 0.5 s.
COMMANDS = {
    "demo": "A program as it is: its record, its report, what helps and by how much; then a study of the library's layouts.",
    "study": "Runs a study, or continues one that was stopped; prints a table and writes one HTML page.",
    "ensemble": "Many runs of a serial program: inputs from templates, a directory for each member on scratch.",
    "plan": "What a layout would do: files, directories, writers, bytes and messages, as a table and a picture.",
    "ls": "The streams of a directory: layout, steps, times, files, bytes and variables.",
    "verify": "Checks the streams of a directory; the exit status is 1 when there are problems, and each is named.",
    "repair": "Repairs a damaged stream and reports what it did.",
    "rewind": "Takes the last steps out of a stream, as before a run that starts from an earlier restart.",
    "adopt": "Takes over the attributes that another program, such as ncatted, has changed in the file of a stream.",
    "index": "Writes the index over a stream's parts anew, as after a run that was killed before it wrote its own.",
    "combine": "Writes all committed steps as one plain NetCDF-4 file.",
    "convert": "Writes all committed steps of a stream again, in another directory and under another layout.",
    "check": "Finds out what `tailrace run` will record of a program, from its file and its libraries.",
    "run": "Runs a command and records the calls on files of all its programs.",
    "place": "Proposes, explains and checks rules for the files of unmodified programs.",
    "tree": "Moves the files of an existing directory into the tree of its rules, and back, by renames alone.",
    "report": "Shows what the I/O of a recorded run cost, why, and what to change.",
    "trace": "Shows what a run did to files, as `tailrace run` recorded it, and exports it as tables and traces for other tools.",
    "coverage": "Compares the logs of a run with the kernel's counts of its processes, and lists what was not recorded.",
    "drain": "Carries files from node-local scratch to their target: checked, in large writes, and resumable.",
    "extract": "Makes files of a bundle by its index, or of all bundles of a folder.",
    "cluster": "One machine as a cluster: nodes with links, disks, a distributed file system and Slurm.",
    "keys": "The configuration keys, their values, defaults and meaning; the presets; and, as Markdown, which choices go together.",
    "resolve": "What is in force for a stream opened here and now: requested and effective values.",
    "completion": "Prints the script with which a shell completes commands, options and presets.",
}
