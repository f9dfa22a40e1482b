"""A job to attack: honest workers train a ledger, of which every record has to be trained once, whatever happens."""

import contextlib
import pathlib
import re
import shutil
import sys
import tempfile
import urllib.error

import grpc

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
from attacks import Attacker, names
from authority import Authority
from crew import Crew, run_to_end, watch_view
from crc32c import crc32c
from ledger import ledger_job, ledger_times, write_ledger_file
from s3 import BUCKET, S3Server, documented_policies, find_program
from tls_crew import TlsCrew

RECORDS = 2000
POLICIES = {"async": "sparse: {policy: async}", "sync": "sparse: {policy: sync, lanes: 2}",
            "ssp": "sparse: {policy: ssp, staleness: 2}"}
# One worker alone takes longer than all attacks; others who come afterwards end the job in a moment.
PACE = {"worker-0": 1000}
PROCESSES = ("chief", "ps-0", "ps-1", "worker-0", "worker-1", "worker-2")
# Whose certificate the attacker has: that of a worker, of the second shard, or of a notebook that may push.
HOLDERS = {"none": None, "worker": "worker", "ps": "ps-1", "pusher": "pusher"}
ESCAPE = "\\u001b[2J\\u0007"  # As JSON writes it: what empties a screen, and a bell.


class Bucket:
    """The job's, on a real S3 server, as whoever has the keys of a worker sees it; each process has keys of its role, under the
    policies of docs/s3.md."""

    data = f"s3://{BUCKET}/train/records.csv"
    models = f"s3://{BUCKET}/models"

    def __init__(self, server):
        self.server = server
        self.writer, self.reader, _ = (server.keys_for(policy) for policy in documented_policies(BUCKET))

    def keys_of(self, process):
        return self.reader if process.startswith("worker") else self.writer

    def try_to(self, method, key):
        """What the store answers to a worker's keys: done, or the code of its error."""
        try:
            self.server.request(method, f"/{BUCKET}/{key}", b"forged" if method == "PUT" else b"", keys=self.reader)
            return "done"
        except urllib.error.HTTPError as refused:
            return re.search("<Code>(.*)</Code>", refused.read().decode())[1]

    def found(self, name):
        """The keys of the objects of this name that the job has written; without waiting for any."""
        return [key for key in self.server.keys("models/") if key.endswith(f"/{name}")]

    def download(self, uri, folder):
        prefix = uri.removeprefix(f"s3://{BUCKET}/") + "/"
        folder.mkdir()
        for key in self.server.keys(prefix):
            (folder / key.removeprefix(prefix)).write_bytes(self.server.get(key))


class Town:
    """`policy`: how updates are applied. `role`: one of HOLDERS; whose certificate the attacker has, with TLS. The data and the
    checkpoints are in a bucket where this machine has an S3 server (s3.find_program), and in files elsewhere."""

    def __init__(self, policy, role, tls):
        self.policy, self.role, self.tls = policy, role, tls
        self.bucket = None

    def __enter__(self):
        with contextlib.ExitStack() as stack:
            self.folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="capstan-attack-")))
            self.data, self.elsewhere = self.folder / "records.csv", self.folder / "elsewhere"
            self.elsewhere.mkdir()
            write_ledger_file(self.data, RECORDS)
            if find_program() is not None:
                self.bucket = Bucket(stack.enter_context(S3Server()))
                self.bucket.server.put("train/records.csv", self.data.read_bytes())
            job = ledger_job([self.bucket.data if self.bucket else self.data], update=POLICIES[self.policy], batch=16)
            settings = {"shards": 2, "workers": 1, "pace": PACE, "overrides": ["partition_count=8", "checkpoint.every=1s"],
                        "name": "attack"}
            crew = TlsCrew(job, Authority(self.folder / "authority"), **settings) if self.tls else Crew(job, **settings)
            if self.tls:
                crew.authority.issue(crew.certificates("pusher"), ["client.ledger.capstan", "pusher.ledger.capstan"])
            if self.bucket:
                crew.overrides.append(f"checkpoint.uri={self.bucket.models}")
                crew.environment.update({process: dict(self.bucket.keys_of(process)) for process in PROCESSES})
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
        attacker = Attacker(self.connect, lambda *where: self.connect_as("worker", *where), self.crew.address,
                            self.view(), self.elsewhere, lambda process: self.crew.room_for(process, 60), self.look, self.bucket)
        try:
            for name in names(self.tls, short):
                yield name.replace("_", " "), getattr(attacker, name)()
        finally:
            attacker.close()

    def look(self, *command):
        """What the `capstan` command shows an admin."""
        tls = ["--tls", self.crew.certificates("admin")] if self.tls else []
        return run_to_end("capstan", *command, *tls)[1]

    def manifest_with_escapes(self):
        """Whoever may write the bucket names a table so: what `capstan checkpoint show` shows then. After end()."""
        stolen = self.folder / "stolen"
        if self.bucket:
            self.bucket.download(self.crew.last.model_uri, stolen)
        else:
            shutil.copytree(self.crew.manifest().parent, stolen)
        text = (stolen / "MANIFEST.json").read_text()
        body, front, _ = text.rpartition(',\n "crc32c": "')
        # All names but those of files, whose checksums would not be looked at then.
        forged = re.sub(r'("(?:name|job|written_by)": ")(?!part)', lambda found: found[0] + ESCAPE, body)
        (stolen / "MANIFEST.json").write_text(f'{forged}{front}{crc32c(forged.encode()):08x}"\n}}\n')
        shown = self.look("checkpoint", "show", stolen)
        if any(byte in shown for byte in "\x1b\x07"):
            return "ESCAPES"
        return f"no escape is shown, {'?[2J? in its place' if '?[2J?' in shown else 'nor the name'}"

    def end(self):
        """Honest workers end the job: how often each record was trained."""
        self.crew.stop([self.crew.processes["worker-0"]])
        for index in (1, 2):
            self.crew.add_worker(f"worker-{index}")
        self.crew.wait(120)
        return set(ledger_times(self.crew.predict_with(self.crew.last.model_uri, self.data)))
