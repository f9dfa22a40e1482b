"""CPU seconds of the peers that are written in Python. Whoever runs them (CAPSTAN_PEERS) may do without: then they are
raced by wall time alone.

Python imports this by itself, as its folder is in PYTHONPATH. If the program goes on to import a module `peerlib` that has
a class Series with run() and own_ticks(), which counts the CPU ticks of all processes of its network, then its results tell
`cpu_per_unit` as well: CPU seconds of all processes for a GB, a million rows, an example or a call."""

import importlib.abc
import importlib.machinery
import os
import sys

TICKS = os.sysconf("SC_CLK_TCK")


def measure_cpu(peerlib):
    """Adds CPU time to what a Series measures and emits."""
    run, emit = peerlib.Series.run, peerlib.Series.emit

    def run_and_count(self, function, value=None):
        found = {}

        def counted():
            found["result"] = function()
            return found["result"]

        before = peerlib.own_ticks()
        run(self, counted, value)
        calls = len(found["result"]) if value is not None and hasattr(found["result"], "__len__") else None
        self.cpu = getattr(self, "cpu", []) + [((peerlib.own_ticks() - before) / TICKS, calls, self.kept[-1][1])]

    def emit_with_cpu(self, peer, workload, case, unit, of=lambda value: value, **detail):
        used = sum(seconds for seconds, _, _ in self.cpu)
        if unit.endswith("/s"):
            done = sum(of(wall) * wall for _, _, wall in self.cpu)
        else:
            done = sum(calls or 0 for _, calls, _ in self.cpu)
        if done:
            detail["cpu_per_unit"] = used / done
        emit(self, peer, workload, case, unit, of, **detail)

    peerlib.Series.run, peerlib.Series.emit = run_and_count, emit_with_cpu


class Finder(importlib.abc.MetaPathFinder):
    """Finds peerlib where it is, and has it measured once it is loaded."""

    def find_spec(self, name, path, target=None):
        if name != "peerlib":
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is None or not hasattr(spec.loader, "exec_module"):
            return spec
        load = spec.loader.exec_module

        def load_and_measure(module):
            load(module)
            if hasattr(module, "Series") and hasattr(module, "own_ticks"):
                measure_cpu(module)

        spec.loader.exec_module = load_and_measure
        return spec


sys.meta_path.insert(0, Finder())
