"""The command `capstan`, and the programs that it starts: those that a wheel brings, or others."""

import os
import pathlib
import shutil
import sys

OWN = pathlib.Path(__file__).parent / "bin" / "capstan"


def capstan():
    """The path of the command: that of the environment variable CAPSTAN, the one that came with this package, or that of the PATH.
    None: there is none."""
    return os.environ.get("CAPSTAN") or (str(OWN) if OWN.exists() else shutil.which("capstan"))


def main():
    """What a wheel installs as `capstan`."""
    os.execv(OWN, ["capstan", *sys.argv[1:]])
