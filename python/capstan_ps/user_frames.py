"""Finds the lines of a traceback that the user has written, as the reader of an error looks there first."""

import inspect
import os
import pathlib
import sys
import sysconfig

INSTALLED = {"site-packages", "dist-packages"}  # Folders of packages that Debian, a virtual environment or the user has installed.
ELSEWHERE = ("numpy", "torch")  # These may be in any folder, for example after `pip install --target`.


def place_in(frames, function=None):
    """Returns the file.py:line of the innermost of `frames` that is the user's own code. `frames` are of traceback.FrameSummary, the
    outermost first. If there is none, returns the place of `function`, which the user has written, or else of the innermost frame."""
    for frame in reversed(frames):
        if is_users(frame.filename):
            return _place(frame.filename, frame.lineno)
    code = getattr(inspect.unwrap(function), "__code__", None)
    if code is not None:
        return _place(code.co_filename, code.co_firstlineno)
    return _place(frames[-1].filename, frames[-1].lineno) if frames else "capstan_ps"


def is_users(filename):
    """Returns whether the user has written the file: it belongs neither to this package, PyTorch, NumPy or Python, nor to an installed
    package."""
    if filename.startswith("<"):  # "<string>", "<frozen importlib._bootstrap>", "<__array_function__ internals>": code that is in no file.
        return filename.startswith("<ipython-input-")  # A cell of a notebook.
    folders = _folders_of_libraries()
    # Both paths are compared, as the file or the folder may be named through a link.
    return not any(INSTALLED.intersection(path.parts) or folders.intersection(path.parents)
                   for path in (pathlib.Path(os.path.abspath(filename)), pathlib.Path(os.path.realpath(filename))))


def _folders_of_libraries():
    # The prefix of the installation is not used: the user's program may be below it, as in a project that is its own virtual environment.
    paths = sysconfig.get_paths()
    folders = {os.path.dirname(__file__), os.path.dirname(os.__file__), *(paths[of] for of in ("stdlib", "platstdlib", "purelib", "platlib"))}
    for name in ELSEWHERE:
        if file := getattr(sys.modules.get(name), "__file__", None):
            folders.add(os.path.dirname(file))
    return {pathlib.Path(resolved(folder)) for folder in folders for resolved in (os.path.abspath, os.path.realpath)}


def _place(filename, line):
    return f"{pathlib.Path(filename).name}:{line}"
