"""A job to attack: honest workers train a ledger, of which every record has to be trained once, whatever happens."""

import contextlib
import pathlib
import sys
import tempfile

import grpc

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
from attacks import Attacker, names
from authority import Authority
from crew import Crew, watch_view
from ledger import ledger_job, ledger_times, write_ledger_file
from tls_crew import TlsCrew

RECORDS = 2000
POLICIES = {"async": "sparse: {policy: async}", "sync": "sparse: {policy: sync, lanes: 2}"}
# One worker alone takes longer than all attacks; others who come afterwards end the job in a moment.
PACE = {"worker-0": 1000}
# Whose certificate the attacker has: that of a worker, or of the second shard.
HOLDERS = {"none": None, "worker": "worker", "ps": "ps-1"}


class Town:
    """`policy`: how updates are applied. `role`: none, worker or ps; whose certificate the attacker has, with TLS."""

    def __init__(self, policy, role, tls):
        self.policy, self.role, self.tls = policy, role, tls

    def __enter__(self):
        with contextlib.ExitStack() as stack:
            self.folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="capstan-attack-")))
            self.data, self.elsewhere = self.folder / "records.csv", self.folder / "elsewhere"
            self.elsewhere.mkdir()
            write_ledger_file(self.data, RECORDS)
            job = ledger_job([self.data], update=POLICIES[self.policy], batch=16)
            settings = {"shards": 2, "workers": 1, "pace": PACE, "overrides": ["partition_count=8"], "name": "attack"}
            crew = TlsCrew(job, Authority(self.folder / "authority"), **settings) if self.tls else Crew(job, **settings)
            self.crew = stack.enter_context(crew)
            self.crew.until_examples(1)
            self.ending = stack.pop_all()
        return self

    def __exit__(self, *what):
        return self.ending.__exit__(*what)

    def view(self):
        """As a trainer of the job hears it."""
        return watch_view(self.crew.address, self.connect_as("worker", "chief", self.crew.address))

    def connect(self, role, address):
        """With the attacker's certificate, if it has one."""
        return self.connect_as(HOLDERS[self.role], role, address)

    def connect_as(self, holder, role, address):
        options = [("grpc.max_send_message_length", 1 << 30), ("grpc.use_local_subchannel_pool", 1)]
        if not self.tls or holder is None:
            return grpc.insecure_channel(address, options)
        return self.crew.connect_as(holder, role, address, options)

    def attack(self, short=False):
        """What each attack got, as it gets it."""
        attacker = Attacker(self.connect, self.crew.address, self.view(), self.elsewhere)
        try:
            for name in names(self.tls, short):
                yield name.replace("_", " "), getattr(attacker, name)()
        finally:
            attacker.close()

    def end(self):
        """Honest workers end the job: how often each record was trained."""
        self.crew.stop([self.crew.processes["worker-0"]])
        for index in (1, 2):
            self.crew.add_worker(f"worker-{index}")
        self.crew.wait(120)
        return set(ledger_times(self.crew.predict(self.data)))
