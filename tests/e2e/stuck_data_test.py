"""Data that do not come: who waits for them is named and has its work taken away, the others finish it, and where
nobody can read them the job waits, says so, and goes on when they are back."""

import http.server
import os
import pathlib
import re
import sys
import tempfile
import threading
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from crew import Crew, has_failpoints, series, view_pb2
from ledger import ledger_job, ledger_times, write_ledger_file

RECORDS = 4000
ASYNC = "sparse: {policy: async}"
SYNC = "sparse: {policy: sync, lanes: 4}\n  dense: {policy: sync, lanes: 4}"


class Objects(http.server.ThreadingHTTPServer):
    """Speaks as much of S3 as a reader of objects needs, and asks nobody who he is. Unless `flows` is set, no byte of
    an object is sent; while there is a `refusal`, objects are asked for in vain."""

    daemon_threads = True

    def __init__(self, objects):
        self.objects = objects  # {path: bytes}
        self.flows = threading.Event()
        self.flows.set()
        self.refusal = None  # (HTTP status, body)
        super().__init__(("127.0.0.1", 0), ObjectsHandler)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def environment(self):
        return {"AWS_ENDPOINT_URL_S3": f"http://127.0.0.1:{self.server_port}", "AWS_ACCESS_KEY_ID": "anybody",
                "AWS_SECRET_ACCESS_KEY": "anything", "CAPSTAN_S3_ALLOW_HTTP": "true"}


class ObjectsHandler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_HEAD(self):
        self.answer(200, len(self.content()))

    def do_GET(self):
        content = self.content()
        if self.server.refusal is not None:
            status, body = self.server.refusal
            self.answer(status, len(body))
            self.wfile.write(body)
            return
        first, last = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers["Range"]).groups()
        piece = content[int(first):int(last or len(content)) + 1]
        self.server.flows.wait()
        self.answer(206, len(piece),
                    {"Content-Range": f"bytes {first}-{int(first) + len(piece) - 1}/{len(content)}"})
        self.wfile.write(piece)

    def content(self):
        return self.server.objects[self.path.split("?")[0]]

    def answer(self, status, length, headers=()):
        self.send_response(status)
        for name, value in {"ETag": '"1"', "Content-Length": str(length), **dict(headers)}.items():
            self.send_header(name, value)
        self.end_headers()


class StuckDataTest(unittest.TestCase):

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.data = pathlib.Path(scratch.name) / "records.csv"
        write_ledger_file(self.data, RECORDS)

    def serve(self):
        """The records as an object, s3://data/records.csv, of a store that all processes find by their environment."""
        objects = Objects({"/data/records.csv": self.data.read_bytes()})
        self.addCleanup(objects.server_close)
        self.addCleanup(objects.shutdown)
        self.addCleanup(objects.flows.set)
        before = dict(os.environ)
        self.addCleanup(lambda: (os.environ.clear(), os.environ.update(before)))
        os.environ.update(objects.environment())
        return objects

    def check_exact(self, crew):
        last = crew.until_state("COMPLETED", "FAILED", timeout=120)
        self.assertEqual(last.state, view_pb2.JOB_STATE_COMPLETED, last.reason)
        self.assertEqual(last.examples, RECORDS)
        self.assertEqual(ledger_times(crew.predict(self.data)), [1] * RECORDS)

    @unittest.skipUnless(has_failpoints(), "a read that never returns is a failpoint")
    def test_a_worker_whose_read_never_returns_loses_its_work_to_the_others_and_can_be_stopped(self):
        for update in (ASYNC, SYNC):
            with self.subTest(update):
                crew = Crew(ledger_job([self.data], update=update), overrides=["data_stall=2s"],
                            pace=20, exit_when_done=False)
                crew.environment["worker-0"] = {"CAPSTAN_FAILPOINTS": "data.read=delay(3600000):5"}
                with crew:
                    crew.until(lambda: [w.stuck for w in crew.status().workers if w.state == "stuck"],
                               "a worker that is stuck")
                    worker = next(w for w in crew.status().workers if w.stuck)
                    self.assertEqual(worker.name, "worker-0")
                    self.assertIn(str(self.data), worker.stuck)
                    crew.until(lambda: series(crew.scrape("chief"), "capstan_workers")['state="stuck"'] == 1, "the count")
                    said = "worker-0 .*" + re.escape(str(self.data))
                    crew.until(lambda: re.search(said, "\n".join(crew.status().warnings)), "the warning")
                    self.assertEqual(crew.status().waiting_for, "")
                    self.check_exact(crew)
                    crew.processes["worker-0"].terminate()
                    self.assertEqual(crew.processes["worker-0"].wait(15), 0, crew.log("worker-0"))

    def test_a_job_whose_data_nobody_can_read_says_so_and_goes_on_when_they_are_back(self):
        objects = self.serve()
        with Crew(ledger_job(["s3://data/records.csv"]), overrides=["data_stall=2s"],
                  pace=20, exit_when_done=False) as crew:
            crew.until_examples(RECORDS // 8)
            objects.flows.clear()
            crew.until(lambda: "s3://data/records.csv" in crew.status().waiting_for, "what the job waits for")
            status = crew.status()
            for name in ("worker-0", "worker-1"):
                self.assertIn(name, status.waiting_for)
            self.assertEqual(status.state, view_pb2.JOB_STATE_RUNNING)
            self.assertEqual(status.tasks.doing, 0)
            objects.flows.set()
            crew.until(lambda: crew.status().waiting_for == "", "the end of the wait")
            self.check_exact(crew)

    def test_a_job_whose_workers_are_refused_waits_says_what_the_store_answers_and_goes_on(self):
        objects = self.serve()
        error = "<Error><Code>{}</Code><Message>not now</Message></Error>"
        with Crew(ledger_job(["s3://data/records.csv"]), overrides=["data_stall=2s"],
                  pace=50, exit_when_done=False) as crew:
            crew.until_examples(RECORDS // 16)
            for refusal in ((403, "InvalidAccessKeyId"), (400, "ExpiredToken"), (404, "")):
                status, code = refusal
                objects.refusal = (status, error.format(code).encode() if code else b"default backend - 404")
                said = f"HTTP {status} {code}".strip()
                crew.until(lambda: said in crew.status().waiting_for, f"the wait that says {said}")
                self.assertEqual(crew.status().state, view_pb2.JOB_STATE_RUNNING)
                crew.until(lambda: said in "\n".join(crew.status().warnings), f"the warning that says {said}")
                objects.refusal = None
                crew.until(lambda: crew.status().waiting_for == "", f"the end of the wait after {said}")
            self.check_exact(crew)

    def test_workers_whose_keys_are_made_later_wait_for_them(self):
        self.serve()
        keys = self.data.parent / "keys"
        keys.mkdir()
        crew = Crew(ledger_job(["s3://data/records.csv"]), overrides=["data_stall=2s"], exit_when_done=False)
        crew.environment.update({name: {"CAPSTAN_S3_KEYS": str(keys)} for name in ("worker-0", "worker-1")})
        with crew:
            crew.until(lambda: "expected the files AWS_ACCESS_KEY_ID" in crew.status().waiting_for, "the wait for keys")
            for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
                (keys / name).write_text("made later")
            self.check_exact(crew)


if __name__ == "__main__":
    unittest.main(verbosity=2)
