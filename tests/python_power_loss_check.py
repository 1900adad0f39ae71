"""python_power_loss_check.py LOG DIRECTORY OPTIONS IMAGES SEED: what a power loss leaves of the recorded run is read, verified and
continued, as often as asked. Prints a line for each image that lost something, and how many images there were."""

from __future__ import annotations

import random
import shutil
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import tailrace
from mpi4py import MPI
from python_resume import check, values, write_on

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from tests.power_loss import Call, Device, calls_of


def times_of(directory: str) -> list[float]:
    """Of the steps that are there, each with its right values."""
    with tailrace.open_read(directory, "history", comm=MPI.COMM_SELF) as reader:
        for number, time in zip(reader.steps, reader.times, strict=True):
            reader.select(number)
            np.testing.assert_array_equal(reader.get("T"), values(int(time)))
            np.testing.assert_array_equal(reader.get("area"), values(-1))
        return list(reader.times)


def fault_of(directory: str, promised: int, keys: dict[str, Any]) -> str | None:
    """What is wrong with the image. The run promised so many steps. Where it promised none, an error is an answer, too."""
    try:
        tailrace.index(directory, "history")
        times = times_of(directory)
        first, last = (int(times[0]), int(times[-1]) + 1) if times else (0, 0)
        kept = keys.get("keep", last + 2)
        if times != list(range(first, last)) or last < promised or first > max(0, last - kept):
            return f"{promised} steps are durable, the times are {times}"
        if promised > 0:
            write_on(MPI.COMM_SELF, directory, keys, last, last + 2)
            check(directory, last + 2, max(0, last + 2 - kept))
    except AssertionError as error:
        # Where nothing was promised, bytes may be missing. That is told by their checksums.
        is_told = promised == 0 and not tailrace.verify(directory, "history", deep=True)["ok"]
        return None if is_told else f"{promised} steps are durable: {error}"
    except tailrace.Error as error:
        return f"{promised} steps are durable: {error}" if promised > 0 else None
    return None


def main(log: str, recorded: str, options: str, images: int, seed: str) -> None:
    calls: list[Call] = calls_of(Path(log), recorded)
    keys = tomllib.loads(options)
    keys["take_over"] = "on"
    rng = random.Random(seed)
    moments = sorted(rng.randint(1, len(calls)) for _ in range(images - 1))
    device, done = Device(recorded), 0
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        image = Path(folder) / "image"
        for moment in [*moments, len(calls)]:
            while done < moment:
                device.do(calls[done])
                done += 1
            how = device.image(rng, image)
            accepted = sum(text.startswith("accepted") for text in device.told)
            is_durable = keys["durability"] == "step" or "closed" in device.told
            why = fault_of(str(image), accepted if is_durable else 0, keys)
            if why is not None:
                last = calls[moment - 1]
                print(f"fault: after call {moment}, {last.name} {last.path[len(recorded) :]} ({how}): {why}")
            shutil.rmtree(image)
    print(f"{images} images of {len(calls)} calls, {accepted} steps")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), sys.argv[5])
