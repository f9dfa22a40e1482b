"""What the processes of a crew have in memory at the most, by role."""

import contextlib
import threading


def role_of(name):
    return name.split("-")[0]


class Resident(threading.Thread):
    """Looks until it is left. `largest`: {role: bytes of the largest process}; `together`: {role: bytes of all of them}."""

    def __init__(self, crew, every=0.25):
        super().__init__()
        self.crew, self.every, self.ended = crew, every, threading.Event()
        self.largest, self.together = {}, {}

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.join()

    def run(self):
        while not self.ended.wait(self.every):
            self.look()

    def look(self):
        now = {}
        for name in list(self.crew.processes):
            with contextlib.suppress(OSError, IndexError):  # It has just ended.
                found = self.crew.resident_bytes(name)
                now.setdefault(role_of(name), []).append(found)
        for role, found in now.items():
            self.largest[role] = max(self.largest.get(role, 0), *found)
            self.together[role] = max(self.together.get(role, 0), sum(found))
