"""A turn as somebody would have taken it, for tests."""

import turns
from results import Result
from turns import Turn

QUIET, BUSY = 0.01, 0.2  # Shares of the machine that others had.


def turn(side, others=QUIET, rejected=None, **values):
    """A turn that found `case=value` or `case=(value, CPU seconds a unit)`."""
    found = []
    for case, value in values.items():
        wall, cpu = value if isinstance(value, tuple) else (value, None)
        found.append(Result(case, "GB/s", [wall], cpu))
    one = Turn(side, found, wall=2.0, cpu=1.5, others=others, when="2026-11-23T12:00:00+00:00")
    one.rejected = rejected or turns.judge(one)
    return one
