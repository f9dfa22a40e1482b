"""The table of a drill: a row for each thing that was done to a release, on the terminal and in docs/kubernetes-checks.md."""

import pathlib
import re
import subprocess
import time
import typing

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "kubernetes-checks.md"
HEAD = """| what is done | it is over and training goes on after | trained again | alerts that fire | what `capstan status` says meanwhile |
|---|---|---|---|---|
"""
NOTHING = "-"


class Row(typing.NamedTuple):
    what: str
    seconds: typing.Optional[float] = None
    again: typing.Optional[int] = None
    alerts: typing.Sequence[str] = ()
    said: str = ""

    def __str__(self):
        cells = (self.what, NOTHING if self.seconds is None else f"{self.seconds:.1f} s",
                 NOTHING if self.again is None else f"{self.again} examples", ", ".join(self.alerts) or NOTHING,
                 self.said.replace("|", "/") or NOTHING)
        return f"| {' | '.join(cells)} |\n"


def write(part, rows, how):
    """Puts the table of that part between its markers. `how`: a sentence on how it came about."""
    put(f"drill: {part}", f"tests/kubernetes/drill --part {part}", how, HEAD + "".join(map(str, rows)))


def put(mark, command, how, table):
    """Puts the table that a command has made, and a sentence on how it came about, between the marks of that name on the page."""
    begin, end = f"<!-- {mark} -->", f"<!-- end of {mark} -->"
    commit = subprocess.run(["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"], capture_output=True, text=True)
    head = f"`{command}`, {time.strftime('%Y-%m-%d')}, commit {commit.stdout.strip()}. {how}\n\n"
    page, found = re.subn(f"{begin}.*{end}", lambda _: begin + "\n" + head + table + end, PAGE.read_text(), flags=re.S)
    if found != 1:
        raise ValueError(f"{PAGE}: {found} times {begin}; it ought to be there once")
    PAGE.write_text(page)
