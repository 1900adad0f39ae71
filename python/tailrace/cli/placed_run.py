"""A run whose files are placed or staged by rules, recorded or not."""

from __future__ import annotations

import signal
from pathlib import Path

from tailrace.cli.recorded_run import NotRun, Recording
from tailrace.cli.run_options import RunOptions
from tailrace.cli.run_signals import say_in_handler
from tailrace.place.mapping import MappingError
from tailrace.place.placing import PLACE_KEY, Placing
from tailrace.plain_text import say
from tailrace.stage.drain import StageError, Stop
from tailrace.stage.node_staging import MOST_NAMED
from tailrace.stage.staging import Staging
from tailrace.toml_table import TomlError
from tailrace.trace import launch
from tailrace.trace.program_file import launch_warning


class PlacedRun(Recording):
    """Compiles the rules before the run. Names the files that are not where the rules put them, before and after the run. Delivers
    the files on scratch after the run."""

    placing: Placing

    def __init__(self, options: RunOptions) -> None:
        super().__init__(options)
        self.staging: Staging | None = None
        self._stop = Stop()  # of the delivery
        self._is_delivered = False
        self._interrupted_by = 0  # the number of a signal

    def prepare(self) -> tuple[list[str], dict[str, str]]:
        options = self.options
        assert options.config is not None
        try:
            self.placing = Placing(Path(options.config))
            if options.trace:
                command, environment = super().prepare()
                command = launch.traced_command(options.command, follow=options.follow, share=options.share, more=(PLACE_KEY,))
                self._stage()
                environment.update(self.placing.begin(self.folder, None if self.staging is None else self.staging.record))
            else:
                self._stage()
                command = launch.traced_command(options.command, follow=options.follow, trace=False, more=(PLACE_KEY,))
                variables = self.placing.begin(None)
                environment = launch.placed_environment(variables, launch.own_environment(), follow=options.follow)
                if why := launch_warning(options.command[0]):
                    say(f"tailrace: the files of {options.command[0]} cannot be placed: {why}")
            if self.staging is not None:
                self.staging.begin()
        except (TomlError, MappingError, StageError) as error:
            self.abandon()
            raise NotRun(str(error)) from None
        except OSError as error:
            self.abandon()
            raise NotRun(f"the rules could not be written: {error.filename}: {error.strerror}") from None
        for text in self.placing.said_before():
            _say(text)
        return command, environment

    def abandon(self) -> None:
        if self.staging is not None:
            self.staging.abandon()

    def _stage(self) -> None:
        if self.placing.stage is not None:
            self.staging = Staging(self.placing.stage, self.placing.config, self.folder, self.options.command, _say)
            for text in self.staging.said_before():
                _say(text)

    def interrupt(self, number: int) -> bool:
        if self.staging is None or self._is_delivered:
            return False
        self._interrupted_by = number
        self._stop.request()
        remedies = self.staging.remedy_texts()
        named = f"{', '.join(remedies[:MOST_NAMED])}{' ...' if len(remedies) > MOST_NAMED else ''}"
        say_in_handler(
            f"tailrace: interrupted by {signal.Signals(number).name}: the delivery stops; {named} delivers what is left. "
            "A second signal ends this command at once"
        )
        return True

    def finish(self, status: int) -> int:
        said = self.placing.said_after()
        if self.staging is not None:
            said += self.staging.said_after(self.placing.nodes_without_scratch())
        for text in said:
            _say(text)
        # First the files, then what the log says: reading large logs takes seconds.
        problems = [] if self.staging is None else self.staging.deliver(_say, self._stop)
        self._is_delivered = True
        status = super().finish(status)
        if not problems:
            return status
        return status or (128 + self._interrupted_by if self._interrupted_by else 1)


def _say(text: str) -> None:
    say(f"tailrace: {text}")
