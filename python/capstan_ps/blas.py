"""Finds out which BLAS library multiplies the matrices of this process. The bits of the results and the speed depend on it."""

import pathlib

_LIBRARIES = ("libmkl", "libopenblas", "libblis", "libblas")  # A library that wraps another one comes after it.


def _loaded():
    """Returns the paths of the libraries that this process has loaded, as Linux lists them; an empty set on other systems."""
    try:
        lines = pathlib.Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return set()
    named = (line.split(maxsplit=5) for line in lines)
    return {pathlib.PurePath(fields[5]) for fields in named if len(fields) == 6 and ".so" in fields[5]}


def library(loaded=None):
    """Returns the name of the library's file, with the version if the name has one, or "unknown"; and whether it is the reference
    implementation, which is some twenty times slower than others. `loaded`: the paths of the loaded libraries; by default those of
    this process."""
    loaded = _loaded() if loaded is None else {pathlib.PurePath(path) for path in loaded}
    for begins in _LIBRARIES:
        found = sorted(path for path in loaded if path.name.startswith(begins))
        if found:
            # `blas` is Debian's folder of the reference library. Other libraries have files of the same name in folders of their own.
            return found[0].name, found[0].parent.name == "blas"
    return "unknown", False
