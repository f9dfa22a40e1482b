"""Which library multiplies the matrices of this process: its bits depend on it, and its speed."""

import pathlib

_LIBRARIES = ("libmkl", "libopenblas", "libblis", "libblas")  # Whichever wraps another one comes behind that.


def _loaded():
    """The libraries in the memory of this process, as Linux tells them; none elsewhere."""
    try:
        lines = pathlib.Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return set()
    named = (line.split(maxsplit=5) for line in lines)
    return {pathlib.PurePath(fields[5]) for fields in named if len(fields) == 6 and ".so" in fields[5]}


def library(loaded=None):
    """Its file's name, with its version where that is part of it, or "unknown"; and whether it is the reference implementation, which is
    some twenty times slower than others. `loaded`: the libraries of the process; default: as they are."""
    loaded = _loaded() if loaded is None else {pathlib.PurePath(path) for path in loaded}
    for begins in _LIBRARIES:
        found = sorted(path for path in loaded if path.name.startswith(begins))
        if found:
            return found[0].name, found[0].parent.name == "blas"  # Debian's folder of it: others' files have its name, in theirs.
    return "unknown", False
