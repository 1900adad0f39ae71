"""The names of the commands."""

# To add a command NAME: write NAME.py with `def command(...)`, or with `group = typer.Typer(...)`, and add it here, in the order of
# --help.
COMMANDS = (
    "demo",
    "study",
    "ensemble",
    "plan",
    "ls",
    "verify",
    "repair",
    "rewind",
    "adopt",
    "index",
    "combine",
    "convert",
    "check",
    "run",
    "place",
    "tree",
    "report",
    "trace",
    "coverage",
    "drain",
    "extract",
    "cluster",
    "keys",
    "resolve",
    "completion",
)
