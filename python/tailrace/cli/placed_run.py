"""A run whose files are placed by rules, recorded or not."""

from __future__ import annotations

from pathlib import Path

from tailrace.cli.recorded_run import NotRun, Recording
from tailrace.place.mapping import MappingError
from tailrace.place.placing import PLACE_KEY, Placing
from tailrace.plain_text import say
from tailrace.toml_table import TomlError
from tailrace.trace import launch
from tailrace.trace.program_file import launch_warning


class PlacedRun(Recording):
    """Rules are compiled before the run. Files that lie beside their place are named before and after it."""

    placing: Placing

    def prepare(self) -> tuple[list[str], dict[str, str]]:
        options = self.options
        assert options.config is not None
        try:
            self.placing = Placing(Path(options.config))
            if options.trace:
                command, environment = super().prepare()
                command = launch.traced_command(options.command, follow=options.follow, share=options.share, more=(PLACE_KEY,))
                environment.update(self.placing.begin(self.folder))
            else:
                command = launch.traced_command(options.command, follow=options.follow, trace=False, more=(PLACE_KEY,))
                variables = self.placing.begin(None)
                environment = launch.placed_environment(variables, launch.own_environment(), follow=options.follow)
                if why := launch_warning(options.command[0]):
                    say(f"tailrace: the files of {options.command[0]} cannot be placed: {why}")
        except (TomlError, MappingError) as error:
            raise NotRun(str(error)) from None
        except OSError as error:
            raise NotRun(f"the rules could not be written: {error.filename}: {error.strerror}") from None
        for text in self.placing.said_before():
            say(f"tailrace: {text}")
        return command, environment

    def finish(self, status: int) -> None:
        super().finish(status)
        for text in self.placing.said_after():
            say(f"tailrace: {text}")
