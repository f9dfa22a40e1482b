"""`capstan serve` gives the scores of `capstan predict` over HTTP, and goes over to a job's newer version while it is asked."""

import http.client
import itertools
import json
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.error
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent / "strangers"
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parents[1] / "integration")]
import generate
from metrics_documented import documented, exported
from model_server import CAPSTAN, Server, column, columns_of

PAGE = (HERE.parents[2] / "docs" / "metrics.md").read_text()


class ServeTest(unittest.TestCase):

    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="capstan-serve-")
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def train(self, epochs):
        """The job's folder."""
        done = subprocess.run([CAPSTAN, "train", "job.yaml", "--plain", "--shards", "1", "--workers", "1", "--run-dir", "run",
                               "--set", f"train.epochs={epochs}"], cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              timeout=120)
        self.assertEqual(done.returncode, 0, done.stdout[-2000:])
        (job,) = self.folder.glob("run/model/*")
        return job

    def predicted(self, job, file):
        text = subprocess.run([CAPSTAN, "predict", job, file], cwd=self.folder, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              text=True).stdout
        return [[float(score) for score in line.split(",")] for line in text.splitlines()]

    def visits(self):
        generate.generate("visits", self.folder)
        shutil.copy(HERE / "jobs" / "visits.yaml", self.folder / "job.yaml")

    def refused(self, *arguments):
        done = subprocess.run([CAPSTAN, "serve", *arguments], cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=10)
        self.assertEqual(done.returncode, 2, done.stdout)
        return done.stdout

    def assert_close(self, found, expected):
        self.assertEqual(len(found), len(expected))
        for one, other in zip(found, expected, strict=True):
            self.assertAlmostEqual(one, other, delta=1e-6)

    def test_scores_are_those_of_predict_by_lines_and_by_columns(self):
        self.visits()
        job = self.train(1)
        expected = self.predicted(job, "test.csv")[:500]
        lines = (self.folder / "test.csv").read_text().splitlines()[1:501]
        with Server(job) as server:
            answer = server.infer(column("records", lines), id="a-1")
            self.assertEqual((answer["model_name"], answer["model_version"], answer["id"]), ("visits", server.version, "a-1"))
            scores = columns_of(answer)
            self.assertEqual(list(scores), ["click", "buy"])
            for place, name in enumerate(scores):
                self.assert_close(scores[name], [score[place] for score in expected])
            cells = list(zip(*(line.split(",") for line in lines)))
            inputs = [column(name, list(cells[place])) for place, name in ((4, "device"), (0, "shop"), (1, "item"), (2, "campaign"))]
            self.assertEqual(columns_of(server.infer(*inputs, outputs=[{"name": "buy"}])), {"buy": scores["buy"]})

            about = json.loads(server.get("/v2/models/visits"))
            self.assertEqual([one["name"] for one in about["inputs"]], ["records", "campaign", "device", "item", "shop"])
            self.assertEqual([one["name"] for one in about["outputs"]], ["click", "buy"])
            self.assertEqual(about["versions"], [server.version])
            for path in ("/v2/health/live", "/v2/health/ready", "/v2/models/visits/ready", f"/v2/models/visits/versions/{server.version}"):
                json.loads(server.get(path))
            metrics = server.get("/metrics")
            self.assertIn("capstan_serve_records_total 1000", metrics)
            self.assertIn('capstan_serve_requests_total{code="200"}', metrics)
            self.assertLessEqual(set(documented(PAGE)["serve"]), set(exported(metrics)))
            self.assertIn("capstan_process_resident_bytes", exported(metrics))

            server.process.send_signal(signal.SIGTERM)
            self.assertEqual(server.process.wait(10), 0)

    def test_a_label_of_a_squared_loss_is_a_value_beside_a_probability(self):
        generate.generate("orders", self.folder)
        shutil.copy(HERE / "jobs" / "orders.yaml", self.folder / "job.yaml")
        job = self.train(1)
        lines = (self.folder / "test.csv").read_text().splitlines()[1:501]
        with Server(job) as server:
            scores = columns_of(server.infer(column("records", lines)))
        for place, name in enumerate(("bought", "amount")):
            self.assert_close(scores[name], [score[place] for score in self.predicted(job, "test.csv")[:500]])
        self.assertTrue(all(0 < score < 1 for score in scores["bought"]))
        self.assertGreater(max(scores["amount"]), 3)

    def test_what_cannot_be_answered_is_told_and_nothing_ends(self):
        self.visits()
        job = self.train(1)
        infer = "/v2/models/visits/infer"
        with Server(job) as server:
            for path, body, code, said in (
                    (infer, b"{", 400, "the request is no JSON object"),
                    (infer, json.dumps({"inputs": [column("records", ["1,2"])]}).encode(), 400, "record 0: 2 columns, expected 6"),
                    (infer, json.dumps({"inputs": [column("shop", ["v1"])]}).encode(), 400, 'input "campaign" is missing; expected either records alone, or'),
                    (infer, json.dumps({"inputs": [column("records", [])], "outputs": [{"name": "sell"}]}).encode(), 400,
                     'there is no output "sell"; expected click, buy'),
                    (infer, None, 405, "by POST"),
                    ("/v2/models/other/infer", b"{}", 404, "this server has the model visits alone"),
                    ("/v2/models/visits/versions/7", None, 404, 'version "7" is not served'),
                    ("/", None, 404, "the model is at /v2/models/visits")):
                self.assertEqual((code, True), (lambda found: (found[0], said in found[1]))(server.refusal(path, body)), f"{path} {said}")
            self.assertEqual(columns_of(server.infer(column("records", []))), {"click": [], "buy": []})
        for model, said in (("nowhere", "nowhere"), (self.folder / "job.yaml", "job.yaml")):
            self.assertIn(said, self.refused(model))
        self.assertIn("capstan computes this model itself", self.refused(job, "--program", "true"))

    def test_a_newer_version_takes_the_place_of_the_one_before_and_no_request_fails(self):
        self.visits()
        job = self.train(1)
        lines = (self.folder / "test.csv").read_text().splitlines()[1:51]
        with Server(job, "--every", "0.2") as server:
            answers, failures, over = [server.infer(column("records", lines))], [], threading.Event()

            def ask():
                while not over.is_set():
                    try:
                        answers.append(server.infer(column("records", lines)))
                    except OSError as error:
                        failures.append(error)
            asking = threading.Thread(target=ask)
            asking.start()
            self.train(2)
            newest = self.predicted(job, "test.csv")[:50]
            until = time.monotonic() + 30
            while answers[-1]["model_version"] == server.version and time.monotonic() < until:
                time.sleep(0.1)
            over.set()
            asking.join()
            self.assertEqual(failures, [])
            self.assertEqual(answers[0]["model_version"], server.version)
            last = server.infer(column("records", lines))
            self.assertNotEqual(last["model_version"], server.version)
            self.assert_close(columns_of(last)["click"], [score[0] for score in newest])

    def test_who_waits_for_a_first_version_is_alive_and_not_ready_until_there_is_one(self):
        self.visits()
        with Server(self.folder / "run/model/visits", "--wait", "--every", "0.2") as server:
            self.assertIsNone(server.version)
            json.loads(server.get("/v2/health/live"))
            self.assertIn("capstan_build_info", server.get("/metrics"))
            for path in ("/v2/models/visits", "/v2/models/visits/ready"):
                self.assertEqual(server.refusal(path), (503, "there is no version of this model yet"))
            with self.assertRaisesRegex(urllib.error.HTTPError, "503"):
                server.get("/v2/health/ready")
            self.assertEqual(self.train(1), self.folder / "run/model/visits")
            server.line_with("serving visits, version ")
            json.loads(server.get("/v2/health/ready"))
            line = (self.folder / "test.csv").read_text().splitlines()[1]
            expected = self.predicted(self.folder / "run/model/visits", "test.csv")[0][:1]
            self.assert_close(columns_of(server.infer(column("records", [line])))["click"], expected)
            self.assertEqual([line for line in server.lines if line.startswith("capstan:")], [])

    def test_health_and_metrics_answer_while_all_connections_are_taken_and_requests_until_it_has_lingered(self):
        self.visits()
        job = self.train(1)
        with Server(job, "--threads", "2", "--health-port", "0", "--metrics-port", "0", "--linger", "5") as server:
            health, metrics = (server.line_with(f"{what} at ").strip().rpartition(":")[2] for what in ("health", "metrics"))
            taken = [http.client.HTTPConnection(server.root.rpartition("//")[2], timeout=10) for _ in range(2)]

            def use(connection):
                """One that is not used for five seconds is closed."""
                connection.request("GET", "/v2")
                with connection.getresponse() as response:
                    self.assertEqual((response.status, json.load(response)["name"]), (200, "capstan"))

            for connection in taken:
                self.addCleanup(connection.close)
                use(connection)
            ask = lambda port, path: urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5).read().decode()
            self.assertEqual(json.loads(ask(health, "/v2/health/ready")), {"ready": True})
            self.assertIn("capstan_serve_requests_total", ask(metrics, "/metrics"))
            with self.assertRaisesRegex(urllib.error.HTTPError, "404"):
                ask(health, "/v2/models/visits")
            time.sleep(1)
            use(taken[0])
            server.process.send_signal(signal.SIGTERM)
            with self.assertRaisesRegex(urllib.error.HTTPError, "503"):
                while True:
                    ask(health, "/v2/health/ready")
            use(taken[0])
            self.assertEqual(server.process.wait(20), 0)

    def test_who_keeps_a_connection_is_told_to_go_elsewhere_before_the_server_ends(self):
        self.visits()
        job = self.train(1)
        with Server(job, "--linger", "5") as server:
            told, failures, used = [], [], threading.Barrier(9, timeout=30)

            def ask(place):
                connection = http.client.HTTPConnection(server.root.rpartition("//")[2], timeout=10)
                try:
                    for count in itertools.count():
                        if count == 5:
                            used.wait()
                        connection.request("POST", "/v2/models/visits/infer", json.dumps({"inputs": [column("records", [])]}))
                        with connection.getresponse() as response:
                            response.read()
                            if response.status != 200:
                                failures.append(response.status)
                            if response.getheader("Connection") == "close":
                                told.append(place)
                                return
                        time.sleep(0.02)
                except (OSError, http.client.HTTPException) as error:
                    failures.append(error)
                finally:
                    connection.close()
            asking = [threading.Thread(target=ask, args=(place,)) for place in range(8)]
            for thread in asking:
                thread.start()
            used.wait()
            self.assertEqual(told, [])
            server.process.send_signal(signal.SIGTERM)
            for thread in asking:
                thread.join()
            self.assertEqual(failures, [])
            self.assertEqual(sorted(told), list(range(8)))
            self.assertEqual(server.process.wait(20), 0)

    def test_images_are_asked_by_their_pixels(self):
        generate.generate("images", self.folder)
        shutil.copy(HERE / "jobs" / "images.yaml", self.folder / "job.yaml")
        job = self.train(1)
        expected = self.predicted(job, "test-images-idx3-ubyte")[:10]
        raw = (self.folder / "test-images-idx3-ubyte").read_bytes()[16:]
        size = len(raw) // len(self.predicted(job, "test-images-idx3-ubyte"))
        pixels = {"name": "pixels", "datatype": "UINT8", "shape": [10, size], "data": list(raw[:10 * size])}
        with Server(job) as server:
            (output,) = server.infer(pixels)["outputs"]
            self.assertEqual((output["name"], output["shape"]), ("probabilities", [10, len(expected[0])]))
            self.assert_close(output["data"], [share for shares in expected for share in shares])


if __name__ == "__main__":
    unittest.main(verbosity=2)
