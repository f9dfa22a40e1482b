"""A section of the document: what it consists of, and what its commands need to know."""

import pathlib
import subprocess

import page
from turns import BOUND, QUIET, WANTED, Side

ROOT = pathlib.Path(__file__).resolve().parents[3]
TURNS = ROOT / "tests" / "bench" / "turns"
PROGRAMS = ROOT / "tests" / "bench" / "python"
EXAMPLES = ROOT / "deploy" / "examples"
PYTHON = "/usr/bin/python3"
CAPSTAN = "capstan"
ALL_PEERS = ("tensorflow", "torch", "torch-rpc", "mxnet", "redis")


class Context:
    """What a section's commands need to know. `peers`: the program that runs others (CAPSTAN_PEERS), or None. `examples`,
    `policies`: of quality and matrix; none: all."""

    def __init__(self, binaries, scratch, peers=None, wanted_peers=ALL_PEERS, runs=3, examples=(),
                 policies=()):
        self.binaries, self.scratch, self.peers = pathlib.Path(binaries), pathlib.Path(scratch), peers
        self.wanted_peers = wanted_peers if peers else ()
        self.examples, self.policies = examples, policies
        self.environment = {
            "CAPSTAN_BIN": str(self.binaries), "CAPSTAN_PROTO": str(ROOT / "proto"), "PEERS_RUNS": str(runs),
            "CAPSTAN_PYTHON_PACKAGE": str(self.binaries.parent / "python"),
            # The peers keep their quietest runs of more; here the turn as a whole is judged, on all sides alike.
            "PEERS_QUIET": "101", "PEERS_TRANSPORTS": "tcp",
            "PYTHONPATH": str(ROOT / "tests" / "bench" / "peer_cpu"), "PYTHONDONTWRITEBYTECODE": "1"}

    def capstan(self, script, *arguments, name=CAPSTAN):
        """One of tests/bench/turns, in the network that the peers have as well."""
        conditions = [self.peers, "netns", "--"] if self.peers else []
        return Side(name, [*conditions, PYTHON, "-B", TURNS / script, *arguments], self.environment, own=True)

    def clicks(self):
        """For train.py: where the data of the quickstart lie."""
        return f"../../data/quickstart={self.scratch / 'clicks'}"

    def make_clicks(self):
        """The click log of P4, unless it is there: a million rows, which are the same bytes on any machine."""
        folder = self.scratch / "clicks"
        if not (folder / "made").exists():
            subprocess.run([self.binaries / "capstan", "data", "generate", "--force", folder], check=True, stdout=subprocess.DEVNULL)
            (folder / "made").touch()

    def make_python(self):
        """The same in the forms that the sides of `python` need, images and tables of ids, once."""
        self.make_clicks()
        folder = self.scratch / "python"
        if not all((folder / name).exists() for name in ("made", "clicks.csv.gz")):
            subprocess.run([PYTHON, "-B", PROGRAMS / "prepare.py", self.scratch / "clicks" / "train.csv", folder], check=True)

    def others(self, *wanted):
        """Of (peer, workload ...) those that were asked for."""
        return [Side(name, [self.peers, "run", name, *workloads], self.environment)
                for name, *workloads in wanted if name in self.wanted_peers]


class Section:
    """`wanted` quiet turns of at most `bound`; a share of `quiet` may go to others. `lasting`: what is measured does not
    depend on the hour, so an interrupted command goes on with what it has. `prepare`: makes what the sides need; it takes no
    part in what is measured. `render`: as page.render."""

    def __init__(self, name, sides, rows=(), implausible=None, wanted=WANTED, bound=BOUND, quiet=QUIET, lasting=False,
                 prepare=None, render=page.render):
        self.name, self.sides, self.rows, self.implausible = name, sides, rows, implausible
        self.wanted, self.bound, self.quiet, self.lasting = wanted, bound, quiet, lasting
        self.prepare, self.render = prepare, render


def faster_than_its_bound(*pairs):
    """A turn in which a case beat what bounds it, both measured in that turn, was disturbed: nothing moves bytes through
    gRPC faster than gRPC does."""
    def implausible(turn):
        found = {result.case: result.value for result in turn.results}
        for case, bound in pairs:
            if case in found and bound in found and found[case] > found[bound]:
                return f"{case} was faster than {bound}, its bound"
        return None
    return implausible
