"""Finds the command `capstan`: the one in the wheel, or another one that the user names or has installed."""

import os
import pathlib
import shutil
import sys

OWN = pathlib.Path(__file__).parent / "bin" / "capstan"


def capstan():
    """Returns the path of the command: the value of the environment variable CAPSTAN, otherwise the command in this package, otherwise the
    one in the PATH. Returns None if there is none."""
    return os.environ.get("CAPSTAN") or (str(OWN) if OWN.exists() else shutil.which("capstan"))


def main():
    """The command `capstan` that a wheel installs: becomes the program in this package."""
    os.execv(OWN, ["capstan", *sys.argv[1:]])
