"""Files that others made, opened without waiting: a FIFO or a device under the name of a file is an error, not an endless wait."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

MOST_TEXT_BYTES = 64 << 20  # of a configuration or of what a program printed


def read_text(path: Path | str, errors: str = "strict", most_bytes: int = MOST_TEXT_BYTES) -> str:
    """The text of a file. Raises OSError, also where it has more than `most_bytes`; UnicodeDecodeError."""
    with open_regular(path) as file:
        content = file.read(most_bytes + 1)
    if len(content) > most_bytes:
        raise OSError(errno.EFBIG, f"more than {most_bytes >> 20} MiB", str(path))
    return content.decode(errors=errors)


def open_regular(path: Path | str) -> BinaryIO:
    """Opens a file for reading. Raises OSError, also where it is a FIFO, a device or a socket."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    try:
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, "no regular file", str(path))
        return os.fdopen(descriptor, "rb")
    except OSError:
        os.close(descriptor)
        raise
