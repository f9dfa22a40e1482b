"""A program of the tests that is asked to end (SIGTERM) leaves its `with` blocks, as at Ctrl-C: so what it has started ends with it."""

import signal


def _end(*_):
    # timeout(1) asks twice, the process and its group: once is enough, and what is being ended is ended in peace.
    signal.signal(signal.SIGTERM, lambda *_: None)
    raise KeyboardInterrupt("asked to end (SIGTERM)")


def unwind_at_sigterm():
    """From now on. To be called in the main thread."""
    signal.signal(signal.SIGTERM, _end)
