"""Messages about the delivery of a run's files, from all its nodes: the progress, the result, and the files that are left."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tailrace.place.stage_rules import StageNode
from tailrace.plain_text import quoted
from tailrace.quantities import bytes_text, number_of, seconds_text
from tailrace.stage.node_staging import MOST_NAMED, Delivered

TORN = "torn, because its process was killed while it had the file open"
PAUSE_S = 2.0  # between lines of progress
Say = Callable[[str], None]


class Progress:
    """Lines such as: 40 % of 3.0 GiB delivered, 120 MiB/s, 15 s left. Summed over nodes."""

    def __init__(self, total_bytes: int, say: Say) -> None:
        self.total_bytes, self.say = total_bytes, say
        self.began_s = time.monotonic()
        self.next_s = self.began_s + PAUSE_S
        self.bytes_of: dict[str, int] = {}
        self._lock = threading.Lock()

    def note(self, node: str, delivered_bytes: int) -> None:
        with self._lock:
            self.bytes_of[node] = delivered_bytes
            now_s = time.monotonic()
            if now_s < self.next_s or not self.total_bytes:
                return
            self.next_s = now_s + PAUSE_S
            delivered = sum(self.bytes_of.values())
        rate = delivered / max(self.seconds, 1e-9)
        left_s = max(self.total_bytes - delivered, 0) / rate if rate > 0 else 0.0
        done = 100 * min(delivered / self.total_bytes, 1)
        self.say(
            f"{done:.0f} % of {bytes_text(self.total_bytes)} delivered, {bytes_text(rate)}/s"
            + (f", {seconds_text(left_s)} left" if rate > 0 else "")
        )

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.began_s


@dataclass(frozen=True)
class OfNode:
    """The result of one node. Messages name the node if the run has several."""

    node: StageNode
    delivered: Delivered
    is_one_of_several: bool

    @property
    def where(self) -> str:
        return f"{self.node.name}:{self.node.scratch}" if self.is_one_of_several else self.node.scratch

    @property
    def remedy(self) -> str:
        return f"{self.delivered.remedy}{f' on {self.node.name}' if self.is_one_of_several else ''}"

    @property
    def resume(self) -> str:
        on_node = f" on {self.node.name}" if self.is_one_of_several else ""
        return f"`tailrace drain resume {quoted(self.node.scratch)}`{on_node} continues"

    def torn_names(self) -> list[str]:
        return [f"{path} (of {self.node.name})" if self.is_one_of_several else path for path in self.delivered.torn]

    def left_names(self) -> list[str]:
        begin = f"{self.where}/" if self.is_one_of_several else ""
        return [f"{begin}{path}: {why}" for path, why in self.delivered.left]


def said_of_delivery(
    all_of: Sequence[OfNode],
    target: str,
    seconds: float,
    doubles: Mapping[str, Sequence[str]],
    say: Say,
    given: Container[str] = (),
) -> list[str]:
    """Prints the result by `say`. `given`: paths that were delivered while the program ran. Returns a text for each file that is
    torn, not delivered, or delivered under another name; they are printed, too."""
    _say_sums([of.delivered for of in all_of], target, seconds, say)
    for of in all_of:
        if why := of.delivered.early_stopped_because:
            begin = f"{of.node.name}: " if of.is_one_of_several else ""
            say(f"{begin}copying while the program ran had stopped: {why}")
    problems = [
        *_named(TORN, [name for of in all_of for name in of.torn_names()]),
        *_named("made on several nodes", _doubles_texts(all_of, doubles, given)),
        *_named("not delivered", [name for of in all_of for name in of.left_names()]),
    ]
    for problem in problems:
        say(problem)
    for of in all_of:
        if why := of.delivered.stopped_because:
            begin = f"{of.node.name}: " if of.is_one_of_several else ""
            problems.append(f"{begin}{why}")
            say(f"{begin}{why}; what is not delivered stays in {of.where}, and {of.remedy}")
        elif of.delivered.left:
            say(f"what is not delivered stays in {of.where}; {of.resume}")
    return problems


def _say_sums(all_of: Sequence[Delivered], target: str, seconds: float, say: Say) -> None:
    def sum_of(name: str) -> int:
        return sum(getattr(one, name) for one in all_of)

    done = [one for one in all_of if not one.stopped_because]
    if not any(one.files or one.left for one in done):
        return
    files, total_bytes, bundles = sum_of("files"), sum_of("bytes"), sum_of("bundles")
    in_bundles = f" in {number_of(bundles, 'bundle')}" if bundles else ""
    with_files = sum(one.files > 0 for one in done)
    nodes = f" from {with_files} nodes" if with_files > 1 else ""
    rate = bytes_text(total_bytes / max(seconds, 1e-9))
    copied = copied_before({name: sum_of(name) for name in ("early_files", "early_bytes")})
    say(
        f"delivered to {target}: {number_of(files, 'file')}{in_bundles}, {bytes_text(total_bytes)}{nodes} "
        f"in {seconds_text(seconds)}, {rate}/s{copied}"
    )


def _doubles_texts(all_of: Sequence[OfNode], doubles: Mapping[str, Sequence[str]], given: Container[str]) -> list[str]:
    new_names = {of.node.name: of.delivered.set_aside for of in all_of}
    texts = []
    for path, nodes in doubles.items():
        others = [f"that of {node} is {new_names[node][path]}" for node in nodes[1:] if path in new_names.get(node, {})]
        first = f"that of {nodes[0]} was {'delivered while the program ran' if path in given else 'changed last'}"
        texts.append(f"{path}: " + "; ".join([f"on {', '.join(nodes)}", first, *others]))
    return texts


def copied_before(answer: Mapping[str, Any]) -> str:
    """A text: how many of the delivered files had been copied while the program ran; "" if none."""
    if not answer["early_files"]:
        return ""
    copied = f"{number_of(answer['early_files'], 'file')}, {bytes_text(answer['early_bytes'])}"
    return f"; of them {copied} had been copied while the program ran"


def _named(what: str, names: Sequence[str]) -> list[str]:
    found = [f"{what}: {name}" for name in names[:MOST_NAMED]]
    if len(names) > MOST_NAMED:
        found.append(f"{what}: and {len(names) - MOST_NAMED:,} more")
    return found
