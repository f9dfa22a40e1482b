"""A job as a notebook sees it: its status, rows and tensors as they stand, while shards and the chief come and go; and what a
certificate of a client does not permit."""

import os
import pathlib
import signal
import sys
import tempfile
import threading
import time
import unittest
from concurrent import futures

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
from python_data import CLICKS, skip_if_lacking

if __name__ == "__main__":
    skip_if_lacking()

sys.path.insert(0, os.environ["PYTHONPATH"])
import grpc  # noqa: E402
import numpy as np  # noqa: E402

import capstan_ps as cap  # noqa: E402
from authority import Authority  # noqa: E402
from crew import BINARIES, Crew, ps_pb2, watch_view  # noqa: E402
from tls_crew import TlsCrew  # noqa: E402

JOB = CLICKS % (20000, "preset: deepfm, hidden: [16]")
# One worker's steps take so long that the job lasts longer than any test; another one ends it in seconds.
LONG = CLICKS % (100000, "preset: deepfm, hidden: [16]") + "checkpoint: {every: 1s}"
UNTIL_A_SECOND_COMES = {"workers": 1, "pace": {"worker-0": 100}, "shards": 2, "exit_when_done": False}
CHECKED_ROWS = 500


class Later:
    """A call on a thread of its own: what it returned, or raised."""

    def __init__(self, call):
        self.result = self.error = None
        self.thread = threading.Thread(target=self.run, args=(call,), daemon=True)
        self.thread.start()

    def run(self, call):
        try:
            self.result = call()
        except Exception as error:  # pylint: disable=broad-exception-caught
            self.error = error

    def wait(self, seconds=60):
        self.thread.join(seconds)
        if self.thread.is_alive():
            raise AssertionError(f"it did not end within {seconds} s")
        if self.error is not None:
            raise self.error
        return self.result


class ClientTest(unittest.TestCase):

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        os.environ["CAPSTAN"] = str(BINARIES / "capstan")

    @staticmethod
    def finish(crew):
        crew.add_worker("worker-1")
        crew.until_state("COMPLETED")

    def check_model(self, job, checkpoint):
        """What the shards hold is the finished model, number for number."""
        model = cap.load(checkpoint)
        self.assertEqual(set(job.tables), set(model.tables))
        for name, table in job.tables.items():
            trained = model.tables[name]
            keys = trained.keys[:: max(1, len(trained.keys) // CHECKED_ROWS)]
            self.assertGreater(len(keys), 100)
            np.testing.assert_array_equal(table.pull(keys), trained.rows(keys))
            self.assertEqual(table.pull(keys).shape, (len(keys), table.dim))
            # In the order asked, also those that come twice.
            np.testing.assert_array_equal(table.pull([int(keys[5]), int(keys[1]), int(keys[5])]), trained.rows(keys)[[5, 1, 5]])
            unknown = [1, 2, 2**64 - 1]
            np.testing.assert_array_equal(table.pull(unknown), trained.rows(np.array(unknown, np.uint64)))
        tensors = model.state_dict()
        self.assertEqual(set(job.tensors), set(tensors))
        for name, tensor in job.tensors.items():
            np.testing.assert_array_equal(tensor.pull(), tensors[name].numpy())
            self.assertEqual(tensor.pull().shape, tensor.shape)

    def hear_of_shards(self, crew):
        """Until what shards tell is not older than this call: a few heartbeats."""
        heard = time.monotonic() + 1
        crew.until(lambda: time.monotonic() > heard, "heartbeats")

    def test_what_is_pulled_is_what_the_finished_model_has(self):
        with Crew(JOB, shards=2, workers=2, name="client", exit_when_done=False) as crew:
            crew.until_state("COMPLETED")
            job = cap.connect(crew.address)
            self.hear_of_shards(crew)
            rows = sum(shard.report.rows for shard in crew.status().shards)
            self.check_model(job, crew.manifest().parent)
            table, = job.tables.values()
            # More than a message holds, none of which the job has.
            many = np.arange(10**9, 10**9 + 2_000_000, dtype=np.int64)
            pulled = table.pull(many)
            np.testing.assert_array_equal(pulled[[0, 1_000_000, -1]], table.pull(many[[0, 1_000_000, -1]]))
            self.hear_of_shards(crew)
            self.assertEqual(sum(shard.report.rows for shard in crew.status().shards), rows, "a pull made rows")
            self.check_status(job, crew.status())
            self.check_mistakes(job, table)

    def check_status(self, job, said):
        status = job.status()
        self.assertEqual((status.job, status.state, status.progress), ("clicks", "completed", 1.0))
        self.assertEqual(status.examples, said.examples)
        self.assertEqual(status.evaluations[-1].metrics, dict(said.evaluations[-1].metrics))
        self.assertEqual([shard.state for shard in status.shards], ["serving", "serving"])
        self.assertEqual(sorted(worker.name for worker in status.workers), sorted(worker.name for worker in said.workers))
        auc = f"auc {said.evaluations[-1].metrics['auc']:.4f}"
        for text in (str(status), status._repr_html_()):
            self.assertIn(auc, text)
            self.assertIn("completed", text)
            self.assertIn("serving", text)
        self.assertIn("<td>state</td><td>completed</td>", status._repr_html_())
        self.assertEqual(job.spec.train.batch_size, 125)
        status.loss, status.evaluations[-1].metrics = 2.5e-9, {"rmse": 1.2346e-7}
        self.assertRegex(str(status), r"loss +2\.5e-09\n")
        self.assertRegex(str(status), r"held out +rmse 1\.235e-07\n")
        status.reason = "<b>"
        self.assertIn("&lt;b&gt;", status._repr_html_())

    def check_mistakes(self, job, table):
        with self.assertRaises(KeyError) as raised:
            job.tables["usr"]  # pylint: disable=expression-not-assigned
        self.assertEqual(str(raised.exception), f"job clicks has no table 'usr'; it has {table.name}")
        with self.assertRaises(KeyError) as raised:
            job.tensors["w"]  # pylint: disable=expression-not-assigned
        self.assertEqual(str(raised.exception), f"job clicks has no tensor 'w'; it has {', '.join(job.tensors)}")
        for keys, wrong in ((7, "a list of whole numbers, not 7"), ("7", "a list of whole numbers, not '7'"),
                            ([1, -1], "from 0 to 2^64-1, not -1"), ([2**64], f"from 0 to 2^64-1, not {2**64}"),
                            ([0.5], "from 0 to 2^64-1, not 0.5"), (np.array([3, -4], np.int32), "from 0 to 2^64-1, not -4"),
                            (np.zeros((2, 3), int), "in one dimension, not int64 of shape (2, 3)"),
                            (np.zeros(2), "in one dimension, not float64 of shape (2,)")):
            with self.assertRaises(ValueError) as raised:
                table.pull(keys)
            self.assertIn(wrong, str(raised.exception))
            self.assertIn(f"table {table.name}", str(raised.exception))
        np.testing.assert_array_equal(table.pull(np.array([3, -4])), table.pull([3, 2**64 - 4]), "as batch.keys has them")
        self.assertEqual(table.pull([]).shape, (0, table.dim))
        self.assertEqual(table.pull(np.array([], np.int64)).shape, (0, table.dim))

    def test_a_pull_waits_for_a_shard_that_is_replaced(self):
        with Crew(LONG, name="client-shard", **UNTIL_A_SECOND_COMES) as crew:
            crew.until_checkpoints(1)
            job = cap.connect(crew.address)
            hasty = cap.connect(crew.address, pull_patience=0.5)
            table, = job.tables.values()
            keys = np.arange(1000)
            self.assertEqual(table.pull(keys).shape, (1000, table.dim))
            hasty.tables[table.name].pull(keys)
            crew.kill("ps-1")
            with self.assertRaisesRegex(ConnectionError, rf"^chief at {crew.address}: tried for 500ms: \S"):
                hasty.tables[table.name].pull(keys)
            pull = Later(lambda: table.pull(keys))
            time.sleep(1)
            self.assertTrue(pull.thread.is_alive(), "it does not wait")
            crew.add_shard(1)
            self.assertTrue(np.isfinite(pull.wait()).all())
            self.finish(crew)
            self.check_model(job, crew.manifest().parent)

    def test_a_chief_that_is_replaced_holds_no_pull_up(self):
        with Crew(LONG, name="client-chief", **UNTIL_A_SECOND_COMES) as crew:
            crew.until_examples(500)
            job = cap.connect(crew.address, chief_patience=1)
            name, = job.tables
            job.tables[name].pull([1, 2])  # Where the shards are has been told by now.
            crew.hang_up()
            crew.kill("chief")
            self.assertEqual(job.tables[name].pull([1, 2]).shape[0], 2)
            with self.assertRaisesRegex(ConnectionError, rf"^chief at {crew.address}: tried for 1s: \S"):
                job.status()
            with self.assertRaisesRegex(ConnectionError, rf"^chief at {crew.address}: tried for 1s: \S"):
                cap.connect(crew.address, chief_patience=1)
            crew.add_chief(crew.address)
            self.finish(crew)
            self.assertEqual(job.status().state, "completed")
            self.check_model(job, crew.manifest().parent)

    def test_a_completed_job_is_read_also_when_its_shards_and_its_chief_were_replaced(self):
        with Crew(JOB, shards=2, workers=2, name="client-after", exit_when_done=False) as crew:
            crew.until_state("COMPLETED")
            model = crew.manifest().parent
            job = cap.connect(crew.address)
            crew.kill("ps-1")
            crew.add_shard(1)
            self.check_model(job, model)
            self.assertEqual(job.status().state, "completed")
            crew.hang_up()
            crew.kill("chief")
            crew.add_chief(crew.address)
            crew.until_state("COMPLETED")
            self.check_model(cap.connect(crew.address), model)
            for shard in (0, 1):
                crew.kill(f"ps-{shard}")
                crew.add_shard(shard)
            self.check_model(job, model)
            crew.until(lambda: [shard.state for shard in crew.status().shards] == ["serving", "serving"], "both shards")

    def test_a_job_without_a_model_says_what_it_waits_for(self):
        with Crew(CLICKS % (4000, "user: deepfm.py"), workers=0, name="client-model", chief_flags=["--on-refusal", "serve"]) as crew:
            job = cap.connect(crew.address, chief_patience=2)
            crew.until(lambda: "model" in job.status().waiting_for, "the wait")
            self.assertIn("the model, which the first worker declares", str(job.status()))
            with self.assertRaisesRegex(ConnectionError, r": tried for 2s: the chief has no job yet: the model, which the first worker declares$"):
                job.tables  # pylint: disable=pointless-statement

    def test_a_signal_ends_a_wait(self):
        with Crew(JOB, shards=1, workers=0, name="client-signal") as crew:
            crew.until(lambda: len(crew.status().shards) == 1, "the shard")
            job = cap.connect(crew.address)
            table, = job.tables.values()
            table.pull([1])
            crew.kill("ps-0")

            def stop(_number, _frame):
                raise KeyboardInterrupt

            self.addCleanup(signal.signal, signal.SIGALRM, signal.signal(signal.SIGALRM, stop))
            signal.setitimer(signal.ITIMER_REAL, 0.5)
            began = time.monotonic()
            with self.assertRaises(KeyboardInterrupt):
                table.pull([1])
            self.assertLess(time.monotonic() - began, 10)
            self.assertEqual(job.status().job, "clicks")

    def test_a_chief_that_cancels_calls_as_it_ends_is_one_that_does_not_answer(self):
        class Chief(grpc.GenericRpcHandler):
            ends = False

            def service(self, handler_call_details):
                if handler_call_details.method.endswith("/GetStatus") and not self.ends:
                    return grpc.unary_unary_rpc_method_handler(lambda request, context: b"")
                return grpc.unary_unary_rpc_method_handler(lambda request, context: context.abort(grpc.StatusCode.CANCELLED, "CANCELLED"))

        chief = Chief()
        server = grpc.server(futures.ThreadPoolExecutor(2), handlers=[chief])
        address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
        server.start()
        self.addCleanup(lambda: server.stop(None).wait())
        job = cap.connect(address, chief_patience=0.5)
        chief.ends = True
        for call in (job.status, lambda: job.tables):
            with self.assertRaisesRegex(ConnectionError, rf"^chief at {address}: tried for 500ms: the call was cancelled there$"):
                call()

    def test_with_tls_a_client_looks_and_does_not_train(self):
        authority = Authority(self.folder / "authority")
        client = authority.issue(self.folder / "client", ["client.clicks.capstan"])
        with TlsCrew(LONG, authority, job_name="clicks", name="client-tls", **UNTIL_A_SECOND_COMES) as crew:
            crew.until_examples(500)
            job = cap.connect(crew.address, tls=client)
            table, = job.tables.values()
            self.assertEqual(table.pull([1, 2]).shape, (2, table.dim))
            self.check_training_pull(crew, authority, table)
            with self.connect(client, "chief", crew.address) as channel, self.assertRaises(grpc.RpcError) as refused:
                channel.unary_unary("/capstan.v1.Chief/StopJob")(b"", timeout=5)
            self.assertEqual(refused.exception.code(), grpc.StatusCode.PERMISSION_DENIED)
            self.assertIn("may call /capstan.v1.Chief/StopJob", refused.exception.details())
            crew.until_checkpoints(1)
            with self.assertRaisesRegex(PermissionError, "names no role of job clicks that may call /capstan.v1.Chief/GetStatus"):
                cap.connect(crew.address, tls=crew.certificates("worker"))
            with self.assertRaises(ConnectionError):
                cap.connect(crew.address, chief_patience=1)
            with self.assertRaisesRegex(ValueError, "nothing/tls.crt: No such file"):
                cap.connect(crew.address, tls=self.folder / "nothing")
            crew.restart_shard(1)
            self.assertEqual(table.pull(np.arange(100)).shape, (100, table.dim))
            self.finish(crew)
            self.check_model(job, crew.manifest().parent)

    def connect(self, folder, role, address):
        credentials = grpc.ssl_channel_credentials(*((folder / name).read_bytes() for name in ("ca.crt", "tls.key", "tls.crt")))
        return grpc.secure_channel(address, credentials, [("grpc.ssl_target_name_override", f"{role}.clicks.capstan")])

    def check_training_pull(self, crew, authority, table):
        """A training pull of a client is refused, also if its certificate has a worker's name of another job; as evaluations do it,
        the same is answered, and a worker may do both."""
        both = authority.issue(self.folder / "both", ["client.clicks.capstan", "worker.other.capstan"])
        view = watch_view(crew.address, self.connect(self.folder / "client", "chief", crew.address))
        request = ps_pb2.PullRequest()
        request.header.wire_version = 1
        request.header.timeline = view.timeline
        request.header.epoch.CopyFrom(view.epoch)
        request.header.target_incarnation = view.shards[0].incarnation
        request.partitions.add(partition=view.owners[:].index(view.shards[0].index))
        for folder, evaluation, expected in ((self.folder / "client", True, None), (self.folder / "client", False, "PERMISSION_DENIED"),
                                             (both, False, "PERMISSION_DENIED"), (crew.certificates("worker"), False, None)):
            request.evaluation = evaluation
            with self.subTest(folder=folder.name, evaluation=evaluation):
                with self.connect(folder, "ps", view.shards[0].address) as channel:
                    pull = channel.unary_unary("/capstan.v1.Ps/Pull", request_serializer=ps_pb2.PullRequest.SerializeToString,
                                               response_deserializer=ps_pb2.PullReply.FromString)
                    if expected is None:
                        self.assertEqual(len(pull(request, timeout=5).partitions), 1)
                        continue
                    with self.assertRaises(grpc.RpcError) as refused:
                        pull(request, timeout=5)
                    self.assertEqual(refused.exception.code().name, expected)
                    self.assertIn("with `evaluation` only", refused.exception.details())


if __name__ == "__main__":
    unittest.main(verbosity=2)
