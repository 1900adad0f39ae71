"""Staging of one run by [stage]: makes its folder on scratch, prints messages about it, and delivers its files to their target."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from tailrace.place.stage_rules import StageRecord, StageRules
from tailrace.quantities import bytes_text
from tailrace.stage.beside import Beside
from tailrace.stage.delivery import Say, deliver, remove_copies
from tailrace.stage.drain import StageError
from tailrace.stage.scratch_folder import ScratchFolder, chosen_scratch

CLOSING_S = 10.0  # seconds to wait for files that a process still has open for writing after the command has ended


def without_record(config: Path) -> str:
    return (
        f"{config}: [stage] needs the record of the run, which shows the files that a killed program left torn: remove --no-trace"
    )


class Staging:
    """Makes the folder on scratch and notes its target. The folder exists until `deliver` or `abandon`. `log`: the folder of the
    run's log. Raises StageError."""

    def __init__(self, rules: StageRules, config: Path, log: Path | None) -> None:
        if log is None:
            raise StageError(without_record(config))
        self.rules = rules
        self.log = log.resolve()
        self._scratch = ScratchFolder(chosen_scratch(rules.scratch), rules.base)
        try:
            self._scratch.announce(rules.base, rules.target, rules.sink, rules.bundle_bytes, self.log)
        except BaseException:
            self._scratch.remove()
            raise
        self._beside: Beside | None = None

    @property
    def path(self) -> str:
        return self._scratch.path

    @property
    def record(self) -> StageRecord:
        """The record of [stage] in the rules file of the run."""
        return StageRecord(self.rules, self.path, os.uname().nodename, self._scratch.device, self._scratch.inode)

    def begin(self) -> None:
        """Called before the program starts. Starts the copying process if [stage] has while_running."""
        if self.rules.while_running:
            self._beside = Beside(self.path, self.rules.target)

    def _end_beside(self) -> None:
        if self._beside is not None:
            self._beside.stop()

    def abandon(self) -> None:
        """Removes the folder and its files: the command did not start, or its files are not needed."""
        self._end_beside()
        self._scratch.remove()

    def said_before(self) -> str:
        return f"files are staged in {self.path}; if this command is killed, `tailrace drain resume {self.path}` delivers them"

    def said_after(self, nodes_without_scratch: Iterable[str]) -> list[str]:
        """Messages before the delivery: which files were not on scratch, and why."""
        said = []
        min_free = bytes_text(self.rules.min_free_bytes)
        counted = self._scratch.counted()
        if counted.at_target:
            said.append(
                f"{counted.at_target:,} files of [stage] were made at their target, because scratch had less than "
                f"{min_free} free (min_free), or was full: {counted.first}{', ...' if counted.at_target > 1 else ''}"
            )
        if self._scratch.is_full():
            said.append(
                f"{self.path} is full, so writes to files on it may have failed (ENOSPC): set min_free in [stage] to more than "
                f"{min_free}"
            )
        said += [
            f"processes on {node} have staged nothing and read nothing from scratch: the folder of the run is on "
            f"{os.uname().nodename} alone; [stage] is for the processes of one node"
            for node in nodes_without_scratch
        ]
        return said

    def deliver(self, say: Say) -> list[str]:
        """Delivers the files. Prints and returns a text for each file that is torn or not delivered, which stays on scratch; empty
        if there is none."""
        from tailrace.trace.log import LogError

        scratch, rules = self._scratch, self.rules
        self._end_beside()
        if scratch.is_empty():
            if scratch.has_copies():
                remove_copies(scratch, rules.target)
            scratch.remove()
            return []
        try:
            torn = torn_on_scratch(scratch.path, rules.base, self.log)
        except (LogError, OSError) as error:
            say(
                f"files stay in {scratch.path}: {error}; `tailrace drain copy {scratch.path} {rules.target}` delivers all of them "
                "and marks none as torn"
            )
            scratch.release()
            return [f"which files are torn is not known: {error}"]
        return deliver(scratch, rules.base, rules.target, rules.sink, rules.bundle_bytes, say, torn, CLOSING_S)


def torn_on_scratch(scratch: str, base: str, log: Path) -> list[str]:
    """Paths, relative to `scratch`, of files that a killed process of the run had open. Its log has their names at the target,
    below `base`. Raises LogError and OSError."""
    from tailrace.trace.torn import torn_below

    return [path for path in torn_below(Path(base), log) if os.path.lexists(os.path.join(scratch, path))]
