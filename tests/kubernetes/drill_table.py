"""The table of a drill: a row for each thing that was done to a release, on the terminal and in docs/kubernetes-checks.md."""

import pathlib
import re
import subprocess
import time
import typing

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "kubernetes-checks.md"
BEGIN, END = "<!-- drill -->", "<!-- end of drill -->"
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


def write(rows, speed, lasts):
    commit = subprocess.run(["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"], capture_output=True, text=True)
    head = (f"{BEGIN}\n`tests/kubernetes/drill`, {time.strftime('%Y-%m-%d')}, commit {commit.stdout.strip()}; one node of two cores, "
            f"workers of 80 examples a second, a checkpoint every 3 s. An alert in "
            f"parentheses still fires from a trouble before. In the second table a trouble lasts for {lasts} s, and each time "
            f"span in the rules is {speed} times as short; there is no kube-state-metrics.\n")
    body = "\n".join(HEAD + "".join(map(str, part)) for part in rows if part)
    page = PAGE.read_text()
    PAGE.write_text(re.sub(f"{BEGIN}.*{END}", lambda _: f"{head}\n{body}\n{END}", page, flags=re.S))
