"""A job whose data and checkpoints live in S3: the same records, exactly once, also after everything was killed, and
no secret in any log."""

import gzip
import pathlib
import signal
import sys
import tempfile
import time
import unittest
import urllib.error

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import s3
from crew import Crew, run_to_end
from freezing import frozen
from ledger import ledger_job, ledger_times, write_ledger_file
from model_server import Server, column

RECORDS = 3000  # In each of two files.
CHECKPOINTS = "models/ledger/checkpoints/"
PACE = 5  # Milliseconds a step: a run takes several checkpoints.


class S3Test(unittest.TestCase):

    def setUp(self):
        self.server = s3.S3Server()
        self.server.__enter__()
        self.addCleanup(self.server.__exit__)
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.plain = pathlib.Path(scratch.name) / "records.csv"
        write_ledger_file(self.plain, RECORDS)
        self.server.put("train/1.csv", self.plain.read_bytes())
        write_ledger_file(self.plain, RECORDS, first=RECORDS)
        self.server.put("train/2.csv.gz", gzip.compress(self.plain.read_bytes()))
        self.server.put("train/notes.txt", b"not for training")

    def crew(self, files=("s3://capstan/train/*.csv*",), **settings):
        crew = Crew(ledger_job(files, epochs=2, batch=4), pace=PACE,
                    overrides=["partition_count=16", "checkpoint.every=1s"], name="s3", **settings)
        crew.overrides.append("checkpoint.uri=s3://capstan/models")
        return crew

    def checkpoints(self):
        return sorted(key.split("/")[-2] for key in self.server.keys(CHECKPOINTS) if key.endswith("/MANIFEST.json"))

    def until_a_checkpoint(self, crew):
        crew.until(lambda: crew.status().checkpoint.taken > 0, "a checkpoint")

    def examples_later(self, crew, examples):
        """The status in which at least `examples` more are trained than now."""
        wanted = crew.status().examples + examples
        crew.until(lambda: crew.status().examples >= wanted, f"{examples} examples more")
        return crew.status()

    def capstan(self, *words, expect=0):
        code, said = run_to_end("capstan", *words, timeout=60)
        self.assertEqual(code, expect, said)
        return said

    def check_exact(self, crew):
        """The job ends, and its model knows every record exactly twice: once an epoch."""
        last = crew.wait(180)
        self.assertEqual(last.examples, 4 * RECORDS)
        self.assertTrue(last.model_uri.startswith("s3://capstan/" + CHECKPOINTS), last.model_uri)
        for file in ("1.csv", "2.csv.gz"):
            scores = self.capstan("predict", last.model_uri, f"s3://capstan/train/{file}")
            times = ledger_times(float(line.split(",")[-1]) for line in scores.splitlines())
            self.assertEqual(times, [2] * RECORDS)
        for name in crew.processes:
            self.assertNotIn(s3.SECRET_KEY, crew.log(name))
        return last

    def test_a_job_killed_whole_goes_on_from_the_bucket(self):
        with self.crew() as crew:
            crew.until_examples(RECORDS)
            self.until_a_checkpoint(crew)
            for name in ("chief", "ps-0", "worker-0"):
                self.assertIn('capstan_object_store_requests_total{code="OK",op="', crew.scrape(name), name)
            crew.kill_all()
            kept = self.checkpoints()
            listed = self.capstan("checkpoint", "list", "s3://capstan/" + CHECKPOINTS)
            self.assertIn(kept[-1], listed)
            self.capstan("checkpoint", "verify", f"s3://capstan/{CHECKPOINTS}{kept[-1]}")
            crew.begin()
            self.assertIn(kept[-1], crew.until_resumed())
            last = self.check_exact(crew)
            said = self.capstan("evaluate", last.model_uri, "s3://capstan/train/1.csv")
            self.assertIn("logloss", said)
            for name in ("curve.csv", "events.out.tfevents.1.capstan"):
                self.assertIn(f"models/ledger/{name}", self.server.keys("models/ledger/"))

    def test_with_the_documented_policies_a_job_trains_its_workers_can_write_nothing_and_its_model_is_served(self):
        writer, reader, server = (self.server.keys_for(policy) for policy in s3.documented_policies(s3.BUCKET))
        crew = self.crew()
        crew.environment.update({name: reader if name.startswith("worker") else writer
                                 for name in ("chief", "ps-0", "ps-1", "worker-0", "worker-1")})
        with crew:
            self.until_a_checkpoint(crew)
            manifest = self.server.keys(CHECKPOINTS)[0]
            self.server.request("GET", f"/{s3.BUCKET}/train/1.csv", keys=reader)
            for method, path in (("PUT", f"{CHECKPOINTS}mine"), ("PUT", "train/1.csv"), ("DELETE", manifest),
                                 ("GET", "models/ledger/state/chief.json")):
                with self.assertRaises(urllib.error.HTTPError, msg=path) as refused:
                    self.server.request(method, f"/{s3.BUCKET}/{path}", b"x" if method == "PUT" else b"", keys=reader)
                self.assertEqual(refused.exception.code, 403, path)
            with Server("s3://capstan/models/ledger", "--wait", environment=reader) as serve:
                self.assertIn("the newest version cannot be taken", serve.line_with("capstan: "), "not in vain, and not silently")
            with Server("s3://no-such-bucket/ledger", "--wait", environment=server) as serve:
                self.assertIn("the newest version cannot be taken", serve.line_with("capstan: "))
            with Server("s3://capstan/models/ledger", "--every", "0.5", environment=server) as serve:
                line = self.plain.read_text().splitlines()[0]
                self.assertEqual(len(serve.infer(column("records", [line]))["outputs"][0]["data"]), 1)
                model = self.check_exact(crew).model_uri
                serve.line_with(f"version {model.rpartition('/')[2]}")

    def test_a_damaged_object_is_found_and_the_checkpoint_before_is_used(self):
        with self.crew() as crew:
            crew.until(lambda: crew.status().checkpoint.taken >= 2, "2 checkpoints")
            crew.kill_all()
            newest = CHECKPOINTS + self.checkpoints()[-1]
            victim = max((key for key in self.server.keys(newest) if key.endswith(".capstan")),
                         key=lambda key: len(self.server.get(key)))
            content = bytearray(self.server.get(victim))
            content[len(content) // 2] ^= 1
            self.server.put(victim, bytes(content))
            said = self.capstan("checkpoint", "verify", f"s3://capstan/{newest}", expect=1)
            self.assertIn(victim.split("/")[-1], said)
            crew.begin()
            self.assertNotIn(newest, crew.until_resumed())
            self.assertIn("cannot load", crew.log("chief"))
            self.check_exact(crew)

    def test_half_a_checkpoint_is_not_seen_and_goes(self):
        with self.crew() as crew:
            self.until_a_checkpoint(crew)
            crew.kill_all()
            half = "999999999999-0001000100aa"
            self.server.put(f"{CHECKPOINTS}{half}/partition-0000.capstan", b"never finished")
            crew.begin()
            self.assertNotIn(half, crew.until_resumed())
            self.check_exact(crew)
            # What is left says that it is given up, to a chief of before that would still complete it.
            self.assertEqual(self.server.keys(CHECKPOINTS + half), [f"{CHECKPOINTS}{half}/MANIFEST.json"])

    def test_training_goes_on_while_the_store_of_its_checkpoints_does_not_answer(self):
        """Its data lie elsewhere: how far workers come without data is what they have read ahead, which may be nothing."""
        files = [self.plain.with_name(f"{first}.csv") for first in (0, RECORDS)]
        for number, file in enumerate(files):
            write_ledger_file(file, RECORDS, first=number * RECORDS)
        with self.crew(files, workers=2) as crew:
            self.until_a_checkpoint(crew)
            with frozen(self.server.process):
                taken = self.examples_later(crew, 50).checkpoint.taken  # What was stored just before has been told by now.
                self.assertEqual(self.examples_later(crew, 2000).checkpoint.taken, taken)
                for name in ("chief", "ps-0", "ps-1", "worker-0"):  # No pod is killed because the store is away.
                    self.assertEqual(crew.health(name)["liveness"], "SERVING", name)
            crew.until(lambda: crew.status().checkpoint.taken > taken, "the next checkpoint")
            self.assertEqual(len(crew.status().losses), 0)
            self.check_exact(crew)

    def test_a_worker_that_waits_for_the_store_stops_in_5_s(self):
        with self.crew() as crew:
            crew.until_examples(RECORDS // 8)
            with frozen(self.server.process):
                time.sleep(2)  # So that what was read ahead is used up.
                began = time.monotonic()
                self.assertEqual(crew.kill("worker-0", signal.SIGTERM), 0)
                self.assertLess(time.monotonic() - began, 5)
            self.check_exact(crew)

    def test_a_bucket_that_is_not_there_is_refused_in_one_line(self):
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as job:
            job.write(ledger_job(["s3://no-such-bucket/train/*.csv"]))
            job.flush()
            self.assertIn("NoSuchBucket", self.capstan("config", "check", job.name, expect=2))


if __name__ == "__main__":
    if s3.find_program() is None:
        print("SKIPPED: there is no S3 server on this machine; CAPSTAN_TEST_S3_SERVER names a minio program")
        sys.exit(77)
    unittest.main(verbosity=2)
