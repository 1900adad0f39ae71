"""A run whose files are placed or staged by rules, recorded or not."""

from __future__ import annotations

import os
from pathlib import Path

from tailrace.cli.recorded_run import NotRun, Recording
from tailrace.cli.run_options import RunOptions
from tailrace.place.mapping import MappingError
from tailrace.place.placing import PLACE_KEY, Placing
from tailrace.place.stage_rules import StageRecord, StageRules
from tailrace.plain_text import say
from tailrace.quantities import bytes_text
from tailrace.stage.delivery import deliver
from tailrace.stage.drain import StageError
from tailrace.stage.scratch_folder import ScratchFolder, chosen_scratch
from tailrace.toml_table import TomlError
from tailrace.trace import launch
from tailrace.trace.program_file import launch_warning

CLOSING_S = 10.0  # that a program which outlives the command has to close its files


class PlacedRun(Recording):
    """Rules are compiled before the run. Files that lie beside their place are named before and after it. Files on scratch are
    delivered after it."""

    placing: Placing

    def __init__(self, options: RunOptions) -> None:
        super().__init__(options)
        self.scratch: ScratchFolder | None = None

    def prepare(self) -> tuple[list[str], dict[str, str]]:
        options = self.options
        assert options.config is not None
        try:
            self.placing = Placing(Path(options.config))
            stage = self.placing.stage
            if stage is not None and not options.trace:
                raise NotRun(
                    f"{options.config}: [stage] needs the record of the run, which says what a killed program has left half: "
                    "leave out --no-trace"
                )
            if options.trace:
                command, environment = super().prepare()
                command = launch.traced_command(options.command, follow=options.follow, share=options.share, more=(PLACE_KEY,))
                environment.update(self.placing.begin(self.folder, None if stage is None else self._staged(stage)))
            else:
                command = launch.traced_command(options.command, follow=options.follow, trace=False, more=(PLACE_KEY,))
                variables = self.placing.begin(None)
                environment = launch.placed_environment(variables, launch.own_environment(), follow=options.follow)
                if why := launch_warning(options.command[0]):
                    say(f"tailrace: the files of {options.command[0]} cannot be placed: {why}")
        except (TomlError, MappingError, StageError) as error:
            self.abandon()
            raise NotRun(str(error)) from None
        except OSError as error:
            self.abandon()
            raise NotRun(f"the rules could not be written: {error.filename}: {error.strerror}") from None
        for text in self.placing.said_before():
            say(f"tailrace: {text}")
        return command, environment

    def abandon(self) -> None:
        if self.scratch is not None:
            self.scratch.remove()

    def _staged(self, stage: StageRules) -> StageRecord:
        assert self.folder is not None
        self.scratch = ScratchFolder(chosen_scratch(stage.scratch), stage.base)
        self.scratch.announce(stage.base, stage.target, stage.sink, stage.bundle_bytes, self.folder.resolve())
        path = self.scratch.path
        say(f"tailrace: files are staged in {path}; if this command is killed, `tailrace drain resume {path}` delivers them")
        return StageRecord(stage, path, os.uname().nodename, self.scratch.device, self.scratch.inode)

    def finish(self, status: int) -> int:
        status = super().finish(status)
        for text in self.placing.said_after():
            say(f"tailrace: {text}")
        if self.scratch is not None and self.placing.stage is not None:
            self._say_at_target(self.placing.stage, self.scratch)
            if not self._deliver(self.placing.stage, self.scratch):
                return status or 1
        return status

    def _deliver(self, stage: StageRules, scratch: ScratchFolder) -> bool:
        from tailrace.trace.log import LogError
        from tailrace.trace.torn import torn_below

        assert self.folder is not None
        if scratch.is_empty():
            scratch.remove()
            return True
        try:
            torn = [path for path in torn_below(Path(stage.base), self.folder) if os.path.lexists(os.path.join(scratch.path, path))]
        except (LogError, OSError) as error:
            say(
                f"tailrace: files stay in {scratch.path}: {error}; `tailrace drain copy {scratch.path} {stage.target}` delivers "
                "all of them as if they were whole"
            )
            scratch.release()
            return False
        return deliver(
            scratch,
            stage.base,
            stage.target,
            stage.sink,
            stage.bundle_bytes,
            lambda text: say(f"tailrace: {text}"),
            torn,
            CLOSING_S,
        )

    def _say_at_target(self, stage: StageRules, scratch: ScratchFolder) -> None:
        counted = scratch.counted()
        if counted.at_target:
            say(
                f"tailrace: {counted.at_target:,} files of [stage] were made at their target, because scratch had less than "
                f"{bytes_text(stage.min_free_bytes)} free (min_free), or was full: {counted.first}"
                f"{', ...' if counted.at_target > 1 else ''}"
            )
        if scratch.is_full():
            say(
                f"tailrace: {scratch.path} is full, so writes to files on it may have failed (ENOSPC): "
                f"set min_free in [stage] to more than {bytes_text(stage.min_free_bytes)}"
            )
        for node in self.placing.nodes_without_scratch():
            say(
                f"tailrace: processes on {node} have staged nothing and read nothing from scratch: the folder of the run is on "
                f"{os.uname().nodename} alone; [stage] is for the processes of one node"
            )
