"""Processes that do not move for a while."""

import contextlib
import pathlib
import signal
import time


def stands(thread):
    try:
        return "State:\tT" in (thread / "status").read_text()
    except OSError:  # It has ended meanwhile.
        return True


def locks_a_folder(process):
    """Whether the process holds a lock of a folder of the object store, for which others would wait."""
    locks = (line.split() for line in pathlib.Path("/proc/locks").read_text().splitlines())
    return any(str(process.pid) in lock and "FLOCK" in lock for lock in locks)


def stop_whole(process):
    """Stops the process; a thread may run on for a while after the signal."""
    process.send_signal(signal.SIGSTOP)
    while not all(stands(thread) for thread in pathlib.Path(f"/proc/{process.pid}/task").iterdir()):
        time.sleep(0.001)


@contextlib.contextmanager
def frozen(process):
    """Nothing of the process moves in here. It is not stopped in the middle of a write to a folder: the lock that it
    holds then, for some milliseconds, would keep all others from writing there."""
    try:
        stop_whole(process)
        while locks_a_folder(process):
            process.send_signal(signal.SIGCONT)
            time.sleep(0.005)
            stop_whole(process)
        yield
    finally:
        process.send_signal(signal.SIGCONT)
