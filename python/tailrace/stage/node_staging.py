"""Staging on one node: makes its folder on scratch, looks at its files, and delivers them. `tailrace run` does so on its own node,
and an agent on each other node."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tailrace.place.stage_rules import StageNode, expanded_scratch
from tailrace.plain_text import quoted
from tailrace.stage import drain, name_lists
from tailrace.stage.ask_socket import AskSocket, Client, Kind
from tailrace.stage.beside import Beside
from tailrace.stage.bundle_words import Move, files_below, moved_back, names_in, removed_file
from tailrace.stage.drain import Progress, StageError, Stop
from tailrace.stage.giver import Giver, Outcome, Purpose, Result, Sum
from tailrace.stage.order import StageOrder
from tailrace.stage.over_target import deliver_over_target
from tailrace.stage.room_maker import RoomMaker
from tailrace.stage.scratch_folder import Folders, ScratchFolder, chosen_scratch, files_of

CLOSING_S = 10.0  # seconds to wait for files that a process still has open for writing after the command has ended
MOST_NAMED = 5
INTERRUPTED = "interrupted before all files were delivered"

Ask = Callable[[str, Client], None]  # asks the other nodes and the bundles, in bundle_words


@dataclass(frozen=True)
class Look:
    """The state of a node's scratch when the program has ended."""

    staged_files: int = 0
    staged_bytes: int = 0
    at_target: int = 0  # files that went to the target because scratch was too full
    first_at_target: str = ""
    is_full: bool = False
    folder_times: Mapping[str, int] = dataclasses.field(default_factory=dict)  # of the target, before files are made in them
    given_files: int = 0  # delivered while the program ran, because other nodes had asked for them
    given_bytes: int = 0
    room_files: int = 0  # delivered while the program ran, because scratch had not enough room
    room_bytes: int = 0
    room_stopped_because: str = ""  # why no more were
    unanswered: int = 0  # names that its processes did not find while some node did not answer
    first_unanswered: str = ""


@dataclass(frozen=True)
class Delivered:
    """The result of the delivery on one node."""

    files: int = 0
    bytes: int = 0
    bundles: int = 0
    early_files: int = 0
    early_bytes: int = 0
    early_stopped_because: str = ""
    torn: Sequence[str] = ()
    left: Sequence[Sequence[str]] = ()  # paths on scratch, and why
    set_aside: Mapping[str, str] = dataclasses.field(default_factory=dict)  # new paths of files whose names other nodes have, too
    stopped_because: str = ""  # why not all is delivered; "": it is, but for what is left
    remedy: str = ""

    @staticmethod
    def stopped(why: str, scratch: str) -> Delivered:
        return Delivered(stopped_because=why, remedy=f"`tailrace drain resume {quoted(scratch)}` continues")


class NodeStaging:
    """Makes the folder on scratch and notes its target. The folder exists until `deliver` or `abandon`. If this process ends
    before, the files stay. Raises StageError, TomlError."""

    def __init__(self, order: StageOrder) -> None:
        self.order = order
        self.node = os.uname().nodename
        self._scratch = ScratchFolder(
            chosen_scratch(expanded_scratch(order.scratch)), order.base, delivers_while_running=order.delivers_while_running
        )
        try:
            self._scratch.announce(order)
        except BaseException:
            self._scratch.remove()
            raise
        self._beside: Beside | None = None
        self._giver: Giver | None = None  # set if files may leave scratch while the program runs
        self._room: RoomMaker | None = None
        self._socket: AskSocket | None = None

    @property
    def record(self) -> StageNode:
        """The record of this node in the rules file of the run."""
        return StageNode(self._scratch.path, self.node, self._scratch.device, self._scratch.inode)

    def begin(self, ask: Ask) -> None:
        """Called before the program starts. Starts the copying process if [stage] has while_running. `ask` is called for files that
        processes of this node do not find."""
        if self.order.while_running:
            self._beside = Beside(self._scratch.path, self.order.target)
        if not self.order.delivers_while_running:
            return
        giver = self._giver = Giver(self._scratch.path, self.order, self.node)
        if self.order.make_room_bytes:
            self._room = RoomMaker(self._scratch.path, self.order.make_room_bytes, giver)
        if not self.order.answers_questions:
            return

        def take(kind: Kind, path: str, client: Client) -> None:
            match kind:
                case Kind.OTHERS | Kind.MOVE:
                    ask(path, client)
                case Kind.BELOW:
                    ask(files_below(path), client)
                case Kind.REMOVED:
                    ask(removed_file(path), client)
                case Kind.NAMES:
                    ask(names_in(path), client)
                case Kind.MOVE_BACK:
                    ask(moved_back(path), client)
                case Kind.OWN:
                    giver.give(path, lambda result: client.done(result.outcome is Outcome.GIVEN), client.still)

        self._socket = AskSocket(self._scratch.state, take)

    def has(self, path: str) -> bool:
        """Whether a file of this name is on scratch, for other nodes."""
        return self._giver is not None and self._giver.has(path)

    def give(self, path: str, done: Callable[[Result], None], still: Callable[[], None]) -> None:
        """Delivers a file while the program runs, as Giver.give does."""
        if self._giver is None:
            done(Result(Outcome.FAILED, "this node does not deliver files while the program runs"))
        else:
            self._giver.give(path, done, still)

    def names_in(self, folder: str, done: Callable[[Result], None], still: Callable[[], None]) -> None:
        """The names of closed files in a folder on scratch, as Giver.names_in gives them."""
        if self._giver is None:
            done(Result(Outcome.GIVEN))
        else:
            self._giver.names_in(folder, done, still)

    def move(self, move: Move, done: Callable[[Result], None], still: Callable[[], None]) -> None:
        """Renames a folder on scratch, as Giver.move does."""
        if self._giver is None:
            done(Result(Outcome.GIVEN))
        else:
            self._giver.move(move, done, still)

    def _end_work(self) -> None:
        """Of the time while the program runs."""
        if self._socket is not None:
            self._socket.end()
        if self._room is not None:
            self._room.end()
        if self._giver is not None:
            self._giver.end()
        if self._beside is not None:
            self._beside.stop()

    def abandon(self) -> None:
        """Removes the folder and its files: the command did not start, or its files are not needed."""
        self._end_work()
        self._scratch.remove()

    def look(self) -> Look:
        """The program has ended. Where the run has several nodes, the names of this one are listed for the others. Raises
        StageError, OSError."""
        self._end_work()
        status = drain.status(Path(self._scratch.path))
        if self.order.is_one_of_several:
            name_lists.write(Path(self.order.log), self.node, name_lists.names_on(self._scratch.path))
        counted = self._scratch.counted()
        sums = {purpose: Sum() for purpose in Purpose} if self._giver is None else self._giver.delivered
        times = Folders(self._scratch.path, self.order.base).times if self.order.sink == "mirror" else {}
        return Look(
            status["staged_files"],
            status["staged_bytes"],
            counted.at_target,
            counted.first,
            self._scratch.is_full(),
            times,
            sums[Purpose.ASKED].files,
            sums[Purpose.ASKED].bytes,
            sums[Purpose.ROOM].files,
            sums[Purpose.ROOM].bytes,
            "" if self._room is None else self._room.stopped_because,
            counted.unanswered,
            counted.first_unanswered,
        )

    def deliver(self, doubles: Sequence[str], progress: Progress | None = None, stop: Stop | None = None) -> Delivered:
        """After `look`. Carries all to the target, and removes the folder when all is there. `doubles`: paths on scratch that
        another node delivers under their names. `stop` ends it early; then the result says how much is left."""
        from tailrace.trace.log import LogError

        scratch, order = self._scratch, self.order
        if scratch.is_empty():
            if scratch.has_copies():
                self._remove_copies()
            scratch.remove()
            return Delivered()
        if stop is not None and stop.is_requested:
            scratch.release()
            return self._interrupted()
        try:
            torn = torn_on_scratch(scratch.path, order.base, Path(order.log))
        except (LogError, OSError) as error:
            scratch.release()
            remedy = (
                f"`tailrace drain copy {quoted(scratch.path)} {quoted(order.target)}` delivers all of them and marks none as torn"
            )
            return Delivered(stopped_because=f"which files are torn is not known: {error}", remedy=remedy)
        try:
            new = self._set_aside(doubles)
            if order.sink == "bundle":
                deliver_over_target(scratch.path, order.base, torn, CLOSING_S)
            scratch.release()
            answer = drain.copy(
                Path(scratch.path),
                Path(order.target),
                order.sink,
                order.bundle_bytes,
                CLOSING_S,
                progress,
                name_lists.renamed(torn, new),
                order.compression,
                stop,
            )
        except StageError as error:
            scratch.release()
            if stop is not None and stop.is_requested:
                return self._interrupted()
            return Delivered.stopped(f"files are not delivered: {error}", scratch.path)
        except KeyboardInterrupt:
            return Delivered.stopped(INTERRUPTED, scratch.path)
        if not answer["left"]:
            scratch.remove()
        return _delivered(answer, new)

    def _interrupted(self) -> Delivered:
        left = self.left_text()
        return Delivered.stopped(f"{INTERRUPTED}: {left}" if left else INTERRUPTED, self._scratch.path)

    def _set_aside(self, doubles: Sequence[str]) -> dict[str, str]:
        if not doubles or self.order.sink != "mirror":
            return {}
        log = Path(self.order.log)
        lists = name_lists.read(log)
        own = lists.pop(self.node, {})
        taken = {path for names in lists.values() for path in names}
        new = name_lists.set_aside(self._scratch.path, self.order.target, self.node, doubles, taken)
        name_lists.write(log, self.node, {new.get(path, path): time_ns for path, time_ns in own.items()})
        return new

    def _remove_copies(self) -> None:
        """Removes the copies at the target if the program has removed all its files. `tailrace drain scavenge` finds copies that
        cannot be removed now."""
        self._scratch.release()
        try:
            drain.copy(Path(self._scratch.path), Path(self.order.target))
        except StageError:
            return

    def left_text(self) -> str:
        """What is on scratch at this moment, by some of its names; "": nothing. Raises StageError."""
        return left_text(self._scratch.path)


def _delivered(answer: Mapping[str, Any], new: Mapping[str, str]) -> Delivered:
    same = ("files", "bytes", "bundles", "early_files", "early_bytes", "early_stopped_because")
    left = tuple((one["path"], one["why"]) for one in answer["left"])
    return Delivered(**{name: answer[name] for name in same}, torn=tuple(answer["torn"]), left=left, set_aside=new)


def left_text(scratch: str) -> str:
    """12 files, 3.0 GiB, such as out/a, out/b. Raises StageError."""
    from tailrace.quantities import bytes_text, number_of

    status = drain.status(Path(scratch))
    if not status["staged_files"]:
        return ""
    names = sorted(path for path, _ in zip(files_of(scratch), range(MOST_NAMED), strict=False))
    size = f"{number_of(status['staged_files'], 'file')}, {bytes_text(status['staged_bytes'])}"
    return f"{size}{', such as ' if len(names) < status['staged_files'] else ': '}{', '.join(names)}"


def torn_on_scratch(scratch: str, base: str, log: Path) -> list[str]:
    """Paths, relative to `scratch`, of files that a killed process of the run had open. Its log has their names at the target,
    below `base`. Raises LogError and OSError."""
    from tailrace.trace.torn import torn_below

    return [path for path in torn_below(Path(base), log) if os.path.lexists(os.path.join(scratch, path))]
