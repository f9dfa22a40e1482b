"""What a process of a crew has had in memory at its largest, as the system counts it."""

import pathlib
import re


def most_resident_bytes(crew, name):
    status = pathlib.Path(f"/proc/{crew.processes[name].pid}/status").read_text()
    return int(re.search(r"^VmHWM:\s+(\d+) kB$", status, re.MULTILINE)[1]) << 10
