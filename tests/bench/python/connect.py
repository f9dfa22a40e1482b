#!/usr/bin/python3
"""How long a program that has imported PyTorch, or NumPy, takes until it knows the job at CAPSTAN_CHIEF: connect.py client|worker

Prints the seconds of `import capstan_ps` and of connecting to the job's status, or of `import capstan_ps.torch` and of being told the job as
its worker."""

import os
import sys
import time


def client():
    import numpy  # noqa: F401  What others' packages take is not ours.
    began = time.monotonic()
    import capstan_ps
    capstan_ps.connect(os.environ["CAPSTAN_CHIEF"]).status()
    return time.monotonic() - began


def worker():
    import torch  # noqa: F401
    began = time.monotonic()
    import capstan_ps.torch  # noqa: F401
    from capstan_ps import worker as of
    here = of.from_environment()
    assert of.await_job(here) is not None
    took = time.monotonic() - began
    here.stop()
    here.end()
    return took


if __name__ == "__main__":
    print({"client": client, "worker": worker}[sys.argv[1]]())
