"""Gradients that a program pushes which is no worker of the job: each counts once, whatever goes on with the shards, and what a job
does not take is told."""

import os
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
from python_data import skip_if_lacking

if __name__ == "__main__":
    skip_if_lacking()

sys.path.insert(0, os.environ["PYTHONPATH"])
import numpy as np  # noqa: E402
import torch  # noqa: E402

import capstan_ps as cap  # noqa: E402
from authority import Authority  # noqa: E402
from crew import Crew  # noqa: E402
from tls_crew import TlsCrew  # noqa: E402

RATE = 0.5
# Without workers nothing else changes its parameters.
JOB = f"""
job: clicks
data: {{format: synthetic, synthetic: {{train_rows: 1000, eval_rows: 100}}, task_records: 500}}
model: {{preset: deepfm, hidden: [16], embedding_dim: 8}}
optimizer: {{sparse: {{kind: sgd, learning_rate: {RATE}}}, dense: {{kind: sgd, learning_rate: {RATE}}}}}
update: %s
train: {{batch_size: 125}}
worker_lease: 2s
heartbeat: 200ms
"""
ASYNC = "{sparse: {policy: async}, dense: {policy: async}}"
NOBODY = {"workers": 0, "shards": 2, "exit_when_done": False}
KEYS = [3, 2**64 - 1, 12, 5]


class SessionTest(unittest.TestCase):

    def crew(self, update=ASYNC, **settings):
        return Crew(JOB % update, **{**NOBODY, "name": "session", **settings})

    @staticmethod
    def table_of(job):
        table, = job.tables.values()
        return table

    def gradients(self, table, keys=KEYS):
        return np.random.default_rng(1).normal(size=(len(keys), table.dim)).astype(np.float32)

    def check_steps(self, before, gradients, after, steps=1):
        expected = before
        for _ in range(steps):
            expected = expected - np.float32(RATE) * gradients
        np.testing.assert_allclose(after, expected, rtol=1e-6, atol=1e-7)

    def test_the_jobs_optimizers_apply_each_push_once(self):
        with self.crew() as crew:
            job = cap.connect(crew.address)
            table = self.table_of(job)
            before, gradients = table.pull(KEYS), self.gradients(table)
            session = job.session()
            self.assertEqual(session.push(tables={table.name: (KEYS, gradients)}), 0)
            self.check_steps(before, gradients, table.pull(KEYS))
            self.assertEqual(session.push(tables={table.name: (KEYS, gradients)}, number=0), 0)
            self.check_steps(before, gradients, table.pull(KEYS))
            self.assertEqual(session.push(tables={table.name: (KEYS, gradients)}), 1)
            self.check_steps(before, gradients, table.pull(KEYS), steps=2)
            self.assertEqual(session.push(tables={table.name: ([7, 7], np.ones((2, table.dim)))}, number=5), 5)
            with self.assertRaisesRegex(ValueError, "^push 4 of this session: 5 has been pushed"):
                session.push(tables={table.name: (KEYS, gradients)}, number=4)
            other = job.session()
            other.push(tables={table.name: (KEYS, gradients)}, number=0)
            self.check_steps(before, gradients, table.pull(KEYS), steps=3)
            rows = table.pull([7, 8])
            self.assertLess(rows[0].mean(), rows[1].mean() - 1.9 * RATE, "what comes twice in a push is added")

    def test_tensors_take_gradients_beside_each_other(self):
        with self.crew() as crew:
            job = cap.connect(crew.address)
            before = {name: tensor.pull() for name, tensor in job.tensors.items()}
            changed = dict(list(before.items())[1:])  # All but the first.
            gradients = {name: torch.full(values.shape, 0.25 * place, requires_grad=True)
                         for place, (name, values) in enumerate(reversed(changed.items()))}
            session = job.session()
            for _ in range(2):  # The second time completes what is complete.
                session.push(tensors=gradients, number=3)
            session.push(tensors=gradients)
            for name, values in before.items():
                gradient = gradients[name].detach().numpy() if name in gradients else np.zeros_like(values)
                self.check_steps(values, gradient, job.tensors[name].pull(), steps=2)

    def test_pushes_count_once_though_shards_are_killed_and_replaced_by_their_backups(self):
        with self.crew(overrides=["replicas=1", "shard_lease=1s", "partition_count=8"], shards=3) as crew:
            crew.until(lambda: crew.status().replicas.paired == 8, "a backup for each partition", 60)
            job = cap.connect(crew.address)
            table = self.table_of(job)
            keys = list(range(64))  # Of every partition.
            before, gradients = table.pull(keys), self.gradients(table, keys)
            session = job.session()
            for number in range(40):
                if number in (10, 25):
                    crew.kill(f"ps-{number // 25}")
                session.push(tables={table.name: (keys, gradients / 64)})
                if number == 20:
                    crew.add_shard(0)
                    crew.until(lambda: crew.status().replicas.paired == 8, "backups again", 60)
            timeline = session.timeline
            self.check_steps(before, gradients / 64, table.pull(keys), steps=40)
            self.assertEqual(crew.status().losses[:], [])
            self.assertEqual(timeline, 1)

    def test_a_return_to_a_checkpoint_is_seen_by_the_timeline(self):
        with self.crew(overrides=["checkpoint.every=1s"]) as crew:
            job = cap.connect(crew.address)
            table = self.table_of(job)
            session = job.session()
            session.push(tables={table.name: (KEYS, self.gradients(table))})
            first = session.timeline
            crew.restart_shard(1)
            crew.until(lambda: crew.status().timeline > first, "the return")
            crew.until_state("RUNNING")  # All shards have loaded.
            before = table.pull(KEYS)
            session.push(tables={table.name: (KEYS, self.gradients(table))})
            self.check_steps(before, self.gradients(table), table.pull(KEYS))
            self.assertGreater(session.timeline, first)

    def test_mistakes_are_told_and_nothing_changes(self):
        with self.crew() as crew:
            job = cap.connect(crew.address)
            table = self.table_of(job)
            name, tensor = table.name, next(iter(job.tensors))
            before, fit = table.pull(KEYS), self.gradients(table)
            bad = fit.copy()
            bad[2, 1] = np.nan
            for error, line, tables, tensors in (
                    (ValueError, f"^the gradients of table {name} are a row for each of its 4 keys, not of shape \\(3, {table.dim}\\)$",
                     {name: (KEYS, fit[:3])}, None),
                    (ValueError, f"table {name}: a gradient of {4 * table.dim - 4} values, and there are {4 * table.dim}$",
                     {name: (KEYS, fit[:, 1:])}, None),
                    (ValueError, f"table {name}: a gradient holds NaN or infinity$", {name: (KEYS, bad)}, None),
                    (ValueError, f"the gradient of table {name} is made of numbers, not <U1$", {name: (KEYS, [["a"]] * 4)}, None),
                    (ValueError, "a key of table features is a whole number", {name: ([-1], fit[:1])}, None),
                    (LookupError, "has no table \"users\"; it has features", {"users": (KEYS, fit)}, None),
                    (KeyError, f"^the job has no tensor 'w'; it has {tensor}, ", None, {"w": [1.0]}),
                    (ValueError, f"tensor {tensor}: a gradient of 1 values, and there are ", None, {tensor: [1.0]}),
                    (ValueError, f"tensor {tensor}: a gradient of 1 values, and there are ", {name: (KEYS, fit)}, {tensor: [1.0]})):
                with self.subTest(line), self.assertRaisesRegex(error, line):
                    job.session().push(tables, tensors)
            np.testing.assert_array_equal(table.pull(KEYS), before)

    def test_parts_that_take_none_are_told(self):
        for update, what in (("{sparse: {policy: async}, dense: {policy: sync, lanes: 2}}", "the tensors of this job are updated in synchronous rounds"),
                             ("{sparse: {policy: async, stale_gradients: compensate}, dense: {policy: async}}", "stale_gradients: compensate")):
            with self.subTest(update), self.crew(update) as crew:
                job = cap.connect(crew.address)
                table = self.table_of(job)
                name, tensor = next(iter(job.tensors.items()))
                push = {"tensors": {name: np.zeros(tensor.shape)}} if "lanes" in update else {"tables": {table.name: (KEYS, self.gradients(table))}}
                with self.assertRaisesRegex(ValueError, what):
                    job.session().push(**push)

    def test_a_job_that_is_over_takes_none(self):
        with self.crew(workers=1) as crew:
            crew.until_state("COMPLETED")
            job = cap.connect(crew.address)
            table = self.table_of(job)
            with self.assertRaisesRegex(RuntimeError, "the job is over: its model does not change any more$"):
                job.session().push(tables={table.name: (KEYS, self.gradients(table))})

    def test_with_tls_only_a_pusher_pushes(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            authority = Authority(folder / "authority")
            client = authority.issue(folder / "client", ["client.clicks.capstan"])
            pusher = authority.issue(folder / "pusher", ["client.clicks.capstan", "pusher.clicks.capstan"])
            with TlsCrew(JOB % ASYNC, authority, job_name="clicks", **{**NOBODY, "name": "session-tls"}) as crew:
                job = cap.connect(crew.address, tls=client)
                table = self.table_of(job)
                before, gradients = table.pull(KEYS), self.gradients(table)
                with self.assertRaisesRegex(PermissionError, "may call /capstan.v1.Ps/Push"):
                    job.session().push(tables={table.name: (KEYS, gradients)})
                np.testing.assert_array_equal(table.pull(KEYS), before)
                session = cap.connect(crew.address, tls=pusher).session()
                session.push(tables={table.name: (KEYS, gradients)})
                self.check_steps(before, gradients, table.pull(KEYS))


if __name__ == "__main__":
    unittest.main(verbosity=2)
