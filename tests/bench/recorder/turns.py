"""Turns of the sides that are compared, and which of them count.

Sides take turns: A B A B. A turn is *disturbed* if others had more than QUIET of the machine's processors while it ran, or
if what it found cannot be (`implausible`: faster than its own bound). Disturbed turns are left out, on whatever side, and
taken again until each side has WANTED quiet ones or has tried BOUND times. What counts is the median of the quiet turns, never the
best of them; a side without enough of them has no wall times, only CPU seconds."""

import datetime

from results import ENDS, Result, median

WANTED, BOUND = 5, 10
QUIET = 0.04


class Side:
    """One of those that are compared: a command, which prints results (results.py). `own`: it is Capstan, whose failure is one
    of the whole command; a peer may lack."""

    def __init__(self, name, command, environment=None, timeout=3600, own=False):
        self.name, self.command, self.environment = name, command, environment or {}
        self.timeout, self.own = timeout, own


class Turn:
    """`rejected`: why it does not count, or None."""

    def __init__(self, side, results, wall, cpu, others, rejected=None, when=None):
        self.side, self.results, self.wall, self.cpu, self.others = side, results, wall, cpu, others
        self.rejected, self.when = rejected, when or datetime.datetime.now(datetime.timezone.utc).isoformat("T", "seconds")

    def to_json(self):
        return {**vars(self), "results": [result.to_json() for result in self.results]}

    @staticmethod
    def from_json(fields):
        known = {name: fields[name] for name in ("side", "wall", "cpu", "others", "rejected", "when")}
        return Turn(results=[Result.from_json(one) for one in fields["results"]], **known)


def judge(turn, quiet=QUIET, implausible=None):
    """Why a turn does not count, or None."""
    if turn.others > quiet:
        return f"others had {100 * turn.others:.0f} % of the processors"
    return implausible(turn) if implausible else None


def take_turns(sides, take, wanted=WANTED, bound=BOUND, kept=(), more=lambda: True):
    """take(side) runs a turn and gives it, judged, or None if the side failed: a side that fails twice is left out.
    `kept`: turns that were taken already. Once more() is false no turn begins. Gives all turns, in their order."""
    turns, failed = list(kept), {side.name: 0 for side in sides}

    def needs(side):
        own = [turn for turn in turns if turn.side == side.name]
        quiet = sum(turn.rejected is None for turn in own)
        return quiet < wanted and len(own) < bound and failed[side.name] < 2

    while True:
        due = [side for side in sides if needs(side)]
        if not due:
            return turns
        for side in due:
            if not more():
                return turns
            turn = take(side)
            if turn is None:
                failed[side.name] += 1
            else:
                turns.append(turn)


class Measured:
    """One case of one side, over the turns. `values`: the median of each turn that counts, in their order; none unless
    there were `wanted`. `cpu`: CPU seconds for a unit of work of every turn, disturbed ones too; None if not told. `ends`: those of client, servers
    and chief."""

    def __init__(self, turns, side, case, wanted=WANTED):
        own = [turn for turn in turns if turn.side == side]
        found = [(turn, result) for turn in own for result in turn.results if result.case == case]
        quiet = [result.value for turn, result in found if turn.rejected is None]
        self.side, self.case = side, case
        self.unit = found[0][1].unit if found else ""
        self.taken, self.quiet = len(found), len(quiet)
        self.values = quiet if len(quiet) >= wanted else []
        self.cpus = [result.cpu for _, result in found if result.cpu is not None]
        self.ends = {end: median([result.ends[end] for _, result in found if end in result.ends])
                     for end in ENDS if any(end in result.ends for _, result in found)}

    @property
    def value(self):
        return median(self.values) if self.values else None

    @property
    def cpu(self):
        return median(self.cpus) if self.cpus else None


def cases_of(turns, side):
    """In the order in which they were told first."""
    seen = {}
    for turn in turns:
        if turn.side == side:
            for result in turn.results:
                seen.setdefault(result.case, None)
    return list(seen)
