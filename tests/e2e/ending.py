"""A program of the tests that is asked to end (SIGTERM) leaves its `with` blocks, as at Ctrl-C: so what it has started ends with it."""

import contextlib
import signal

_held = False  # Whether what is under way is to be over before the end.
_asked = False  # Whether the end was asked for meanwhile.


def _end(*_):
    global _asked
    if _held:
        _asked = True
        return
    # timeout(1) asks twice, the process and its group: once is enough, and what is being ended is ended in peace.
    signal.signal(signal.SIGTERM, lambda *_: None)
    raise KeyboardInterrupt("asked to end (SIGTERM)")


def unwind_at_sigterm():
    """From now on. To be called in the main thread."""
    signal.signal(signal.SIGTERM, _end)


@contextlib.contextmanager
def held():
    """Who is asked to end in here ends thereafter: a process that is there, but not yet in its starter's list, would be ended by nobody.
    Not to be nested."""
    global _held, _asked
    _held = True
    try:
        yield
    finally:
        _held = False
        if _asked:
            _asked = False
            signal.raise_signal(signal.SIGTERM)
