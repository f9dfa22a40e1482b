"""Whether a test would be over before the stage that runs it is to end. tests/kubernetes/run says until when there is time
($CAPSTAN_UNTIL, in seconds since the epoch), and CMake what each test typically takes ($CAPSTAN_TYPICAL_SECONDS)."""

import os
import time


def lack(test, environment=os.environ, now=None):
    """Why the test is not to begin; None: it may. Where nobody says until when, there is time."""
    if "CAPSTAN_UNTIL" not in environment:
        return None
    typical = int(environment["CAPSTAN_TYPICAL_SECONDS"])
    left = int(environment["CAPSTAN_UNTIL"]) - int(time.time() if now is None else now)
    if typical <= left:
        return None
    return f"{test} typically takes {typical} s, and {max(left, 0)} s are left for it"
