"""What is compared with what, and whether that reaches what was set: a bar, which holds, and a goal, which is aimed at."""

import collections
import re

from results import show, spread
from turns import Measured, cases_of

# `ours`: a pattern of cases of the first side, or of the side `of`. `theirs`: [(side, pattern of its cases)]; or a number.
# What is best of the cases that match counts, on both sides. Ratios are ours by theirs. `bar`, `goal`: at least so much;
# with `less`: at most, as less is better. None: not set. `cpu`: they are about CPU time, not wall time.
Row = collections.namedtuple("Row", "what ours theirs bar goal less of cpu", defaults=(None, None, False, None, False))


def measured_cases(turns, side, pattern, wanted):
    """What matches the whole of the pattern."""
    return [Measured(turns, side, case, wanted) for case in cases_of(turns, side) if re.fullmatch(pattern, case)]


def best(found, less):
    """By wall time, and, if there is none, by CPU time; None of none."""
    walls = [one for one in found if one.value is not None]
    if walls:
        return (min if less else max)(walls, key=lambda one: one.value)
    cpus = [one for one in found if one.cpu is not None]
    return min(cpus, key=lambda one: one.cpu) if cpus else (found[0] if found else None)


class Compared:
    """A row, filled. `wall`: the ratio of what was measured; `cpu`: how many times less CPU time a unit of work takes
    here (with `less`: the share it takes); None where it is not known."""

    def __init__(self, row, turns, first, wanted):
        self.row, self.theirs, self.number = row, None, None
        self.ours = best(measured_cases(turns, row.of or first, row.ours, wanted), row.less)
        if isinstance(row.theirs, (int, float)):
            self.number = row.theirs
        else:
            found = [one for side, pattern in row.theirs for one in measured_cases(turns, side, pattern, wanted)]
            self.theirs = best([one for one in found if one.taken], row.less)
        self.wall, self.cpu = self._wall(), self._cpu()

    @property
    def known(self):
        """Whether both were tried at all."""
        return self.ours is not None and (self.theirs is not None or self.number is not None)

    def _wall(self):
        other = self.number if self.theirs is None else self.theirs.value
        return None if self.ours is None or self.ours.value is None or not other else self.ours.value / other

    def _cpu(self):
        if self.ours is None or self.theirs is None or not self.ours.cpu or not self.theirs.cpu:
            return None
        return self.ours.cpu / self.theirs.cpu if self.row.less else self.theirs.cpu / self.ours.cpu

    def verdict(self, limit):
        """`>= 0.7: met`. By wall time; what has no wall time was not measured, whatever its CPU time says."""
        if limit is None:
            return ""
        sign = "≤" if self.row.less else "≥"
        text = f"{sign} {limit:g}"
        if self.row.cpu:
            known = "not measured" if self.cpu is None else judged(self.cpu, limit, self.row.less)
            return f"{text} by CPU: {known}"
        if self.wall is not None:
            return f"{text}: {judged(self.wall, limit, self.row.less)}"
        if self.cpu is not None:
            return f"{text}: not measured; by CPU {judged(self.cpu, limit, self.row.less)}"
        return f"{text}: not measured"

    def cells(self):
        other, name = ("", show(self.number)) if self.theirs is None else (self.theirs.side, "")
        if self.theirs is not None:
            other, name = f"{self.theirs.side}: {self.theirs.case}", spread(self.theirs.values)
        cpus = ""
        if self.ours.cpu is not None:
            cpus = show(self.ours.cpu) + ("" if self.theirs is None else f" / {cpu_of(self.theirs)}")
        return [self.row.what, spread(self.ours.values), other or "a number", name, ratio(self.wall), cpus, ratio(self.cpu),
                self.verdict(self.row.bar), self.verdict(self.row.goal)]


def judged(value, limit, less):
    return "met" if (value <= limit if less else value >= limit) else "**missed**"


def ratio(value):
    return "" if value is None else f"{value:.2f}"


def cpu_of(measured):
    return "not told" if measured.cpu is None else show(measured.cpu)
