"""Which files belong to the system, and which to the user."""

from __future__ import annotations

# Folders with files of the system and of installed programs.
SYSTEM = ("/proc/", "/sys/", "/usr/", "/lib", "/etc/", "/opt/", "/bin/", "/sbin/", "/run/", "/var/lib/")


def is_user_data(name: str) -> bool:
    """Whether a name is likely to be user data: no pipe, socket, program, library or file of the system."""
    return name.startswith("/") and not name.startswith(SYSTEM) and (not name.startswith("/dev/") or name.startswith("/dev/shm/"))
