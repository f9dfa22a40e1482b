"""What was measured, kept in a file, a line of JSON a turn, so that a command that was interrupted goes on."""

import hashlib
import json
import pathlib

from turns import Turn

PROGRAMS = ("chief", "ps", "worker", "capstan", "dataplane")


def fingerprint(folder):
    """Of the programs in a folder: results of others are not mixed with theirs."""
    digest = hashlib.sha256()
    for name in PROGRAMS:
        path = pathlib.Path(folder) / name
        digest.update(path.read_bytes() if path.exists() else b"none")
    return digest.hexdigest()[:12]


class Store:
    """Turns of one section."""

    def __init__(self, path, program):
        self.path, self.program = pathlib.Path(path), program

    def turns(self):
        """Those of this program. A line that was cut off, as the machine failed, is no turn."""
        if not self.path.exists():
            return []
        found = []
        for line in self.path.read_text(encoding="utf-8").splitlines():
            try:
                fields = json.loads(line)
            except ValueError:
                continue
            if fields["program"] == self.program:
                found.append(Turn.from_json(fields["turn"]))
        return found

    def add(self, turn):
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(json.dumps({"program": self.program, "turn": turn.to_json()}) + "\n")

    def forget(self):
        self.path.unlink(missing_ok=True)
