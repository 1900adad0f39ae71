"""Facts about the machine: processor, memory, file systems, versions. Read from the kernel and the programs, not from the user."""
