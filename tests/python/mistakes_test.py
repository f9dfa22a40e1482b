"""What a program of the user's does wrong is told in the user's words, and ends: real processes on loopback."""

import contextlib
import io
import os
import pathlib
import signal
import subprocess
import sys
import sysconfig
import types
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
from python_data import CLICKS, ROOT, SYNC, skip_if_lacking

if __name__ == "__main__":
    skip_if_lacking()

from python_crew import PythonCrew  # noqa: E402

if __name__ == "__main__":
    sys.path.insert(0, os.environ["PYTHONPATH"])

import torch  # noqa: E402
import capstan_ps.torch as ct  # noqa: E402
from capstan_ps import worker  # noqa: E402

PROGRAM = ROOT / "tests/python/program.py"
LIMIT = ["train.step_timeout=8s"]


def line_of(text):
    """program.py:line, of the first line with this text."""
    return "program.py:%d" % (1 + next(i for i, line in enumerate(PROGRAM.read_text().splitlines()) if text in line))


def taken_step():
    """A step of three records with two numbers each, its job, and tensors that take nothing from it."""
    step = types.SimpleNamespace(
        examples=3, stream=0, seq=0, labels=lambda: torch.zeros(3, 1), weights=lambda: None, numbers=lambda: torch.zeros(3, 2),
        values=lambda: None, rows=lambda table: torch.zeros(0, 0), offsets=lambda: torch.zeros(4, dtype=torch.int32),
        index=lambda table: torch.zeros(0, dtype=torch.int32), keys=lambda table: torch.zeros(0, dtype=torch.int64))
    job = types.SimpleNamespace(labels=[], dims=[], features=[], image=(0, 0), channels=1, seed=1, sum_loss=False, outputs=1)
    return step, job, types.SimpleNamespace(take=lambda taken: None, set_training=lambda: None)


class HangsTest(unittest.TestCase):

    def test_a_step_that_hangs_is_told_with_its_stack_and_ends_the_job_when_it_comes_again(self):
        job = CLICKS % (20000, "user: deepfm.py") + SYNC
        where = line_of("time.sleep(3600)")
        with PythonCrew(job, workers=2, name="hangs", environment={"HANG": "3"}, overrides=LIMIT) as crew:
            last = crew.wait(expect=1)
            self.assertIn(f"{where}: hangs: a step has taken longer than train.step_timeout, 8s (in the program of worker", last.reason)
            self.assertIn("in wait_for_ever", last.reason, "the end of its stack")
            for i in range(2):
                self.assertEqual(crew.end_of(f"worker-{i}"), 3)
                log = crew.log(f"worker-{i}")
                self.assertEqual(log.splitlines()[-1], f"capstan_ps: {where}: hangs: a step has taken longer than train.step_timeout, 8s")
                self.assertIn("wait_for_ever()", log)

    def test_another_worker_takes_over_what_one_that_hangs_has_given_back(self):
        job = CLICKS % (4000, "user: deepfm.py") + SYNC
        with PythonCrew(job, workers=1, name="one-hangs", overrides=LIMIT, environment={"HANG": "3"}) as crew:
            self.assertEqual(crew.end_of("worker-0", 90), 3)
            crew.add_worker("next", HANG="")
            last = crew.wait()
            self.assertEqual((last.examples, last.tasks.expirations), (4000, 0))

    def test_predict_may_hang_too(self):
        job = CLICKS % (1000, "user: deepfm.py")
        with PythonCrew(job, workers=1, name="predict", environment={"HANG_PREDICT": "1"}, overrides=LIMIT) as crew:
            self.assertEqual(crew.end_of("worker-0", 90), 3)
            self.assertIn(f"capstan_ps: {line_of('time.sleep(3600)')}: hangs: ", crew.log("worker-0"))

    def test_one_that_holds_the_interpreters_lock_ends_without_a_stack(self):
        job = CLICKS % (20000, "user: deepfm.py") + SYNC
        with PythonCrew(job, workers=1, name="holds", environment={"HOLD": "300"}, overrides=LIMIT) as crew:
            self.assertEqual(crew.end_of("worker-0", 60), 3)
            self.assertEqual(crew.log("worker-0").splitlines()[-1],
                             "capstan_ps: deepfm.py: hangs: a step has taken longer than train.step_timeout, 8s; where cannot be "
                             "told, as it does not let go of the interpreter's lock")


class EndsItselfTest(unittest.TestCase):
    """A drain of minutes would be waited out if nobody gave the step back, or if steps of other lanes were waited for."""

    def test_sys_exit_in_a_step_fails_the_job_with_its_place(self):
        job = CLICKS % (20000, "user: deepfm.py")
        with PythonCrew(job, workers=1, name="exit", environment={"EXIT": "3", "CAPSTAN_DRAIN": "600"}) as crew:
            self.assertEqual(crew.end_of("worker-0", 60), 3)
            self.assertEqual(crew.log("worker-0").splitlines()[-1], f"capstan_ps: {line_of('sys.exit()')}: SystemExit: ")
            crew.add_worker("worker-0")
            self.assertIn(f"{line_of('sys.exit()')}: SystemExit", crew.wait(expect=1).reason)

    def test_ctrl_c_in_a_step_gives_that_back_and_is_no_mistake_of_the_program(self):
        job = CLICKS % (4000, "user: deepfm.py") + SYNC
        with PythonCrew(job, workers=1, name="ctrl-c", environment={"INTERRUPT": "3", "CAPSTAN_DRAIN": "600"}) as crew:
            for attempt in range(2):
                self.assertEqual(crew.end_of("worker-0", 60), -signal.SIGINT)
                crew.add_worker("worker-0", INTERRUPT="" if attempt else "1")
            self.assertEqual(crew.wait().examples, 4000)


class FailsAtOnceTest(unittest.TestCase):

    def test_status_tells_of_a_program_that_fails_before_its_first_step_until_it_works(self):
        job = CLICKS % (20000, "user: deepfm.py")
        with PythonCrew(job, workers=1, name="build", environment={"RAISE_BUILD": "1", "PACE": "0.5"}) as crew:
            self.assertEqual(crew.end_of("worker-0", 90), 3)
            told = f"worker worker-0's program fails: RuntimeError: no weights here, at {line_of('no weights here')}"
            self.assertEqual(list(crew.status().warnings), [told], "no model has been declared, and no job begun")
            self.assertIn(told, crew.log("chief"))
            crew.add_worker("worker-0", RAISE_BUILD="")
            crew.until_examples(100)
            self.assertEqual(list(crew.status().warnings), [])
            crew.add_worker("other", RAISE_BUILD="", WIDTH="7")
            self.assertEqual(crew.end_of("other", 90), 2)
            warning, = crew.status().warnings
            self.assertIn("worker other's program fails: the model differs from the job's (declared by worker-0)", warning)


class EnvironmentTest(unittest.TestCase):

    def refused(self, saying, **variables):
        with self.subTest(variables):
            done = subprocess.run([sys.executable, "-c", "from capstan_ps import worker; worker.from_environment()"], timeout=30,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={**os.environ, "CAPSTAN_CHIEF": "127.0.0.1:1", **variables})
            self.assertEqual((done.returncode, done.stdout), (2, f"capstan_ps: {saying}\n"))

    def refused_here(self, saying, **variables):
        """As refused, without a process for each: a start of Python takes longer than all of these."""
        said = io.StringIO()
        with self.subTest(variables), mock.patch.dict(os.environ, {"CAPSTAN_CHIEF": "127.0.0.1:1", **variables}):
            with contextlib.redirect_stderr(said), self.assertRaises(SystemExit) as ended:
                worker.from_environment()
            self.assertEqual((ended.exception.code, said.getvalue()), (2, f"capstan_ps: {saying}\n"))

    def test_an_address_that_is_none_is_told_at_once(self):
        for address in ("localhost", "localhost:70000", ":7000"):
            self.refused(f"CAPSTAN_CHIEF: {address} is not host:port, with a port from 0 to 65535", CAPSTAN_CHIEF=address)

    def test_a_number_that_cannot_be_meant_is_told_with_its_variable(self):
        for variable in ("CAPSTAN_HEALTH_PORT", "CAPSTAN_METRICS_PORT"):
            for text in ("x", "", "70000", "-1", "7e3"):
                self.refused_here(f"{variable}: {text!r} is not a port, from 0 to 65535", **{variable: text})
        for text in ("soon", "0", "-1", "nan", "inf"):
            self.refused_here(f"CAPSTAN_CHIEF_DEADLINE: {text!r} is not a number of seconds above 0", CAPSTAN_CHIEF_DEADLINE=text)
        for text in ("soon", "0.5", "nan", "1e9"):
            self.refused_here(f"CAPSTAN_DRAIN: {text!r} is not a number of seconds from 1 to 86400", CAPSTAN_DRAIN=text)


class WordsTest(unittest.TestCase):

    def test_what_is_no_unicode_is_told_all_the_same(self):
        told = []
        fake = types.SimpleNamespace(fail=lambda *words: told.append([word.encode() for word in words]), end=lambda: None)
        for tell in (lambda error: worker.fail(fake, None, error), lambda error: worker.fail(fake, fake, error), lambda error: worker.refuse(fake, error)):
            with self.assertRaises(SystemExit), contextlib.redirect_stderr(io.StringIO()):
                try:
                    raise OSError("no file caf\udce9.csv")
                except OSError as error:
                    tell(error)
        self.assertEqual([words[2] for words in told], [b"no file caf?.csv"] * 3)

    def test_ctrl_c_between_two_steps_gives_back_what_the_worker_holds(self):
        told = []

        def take(patience):
            raise KeyboardInterrupt
        fake = types.SimpleNamespace(over=False, take=take, await_hang=lambda patience: False, stop=lambda: told.append("stop"))

        def end():
            fake.over = True  # The thread beside ends with it.
            told.append("end")
        fake.end = end
        with self.assertRaises(KeyboardInterrupt):
            next(worker.steps(fake))
        self.assertEqual(told, ["stop", "end"])

    def test_a_name_that_job_yaml_lacks_is_answered_with_those_it_has(self):
        features = ct.Named("feature", {"user": 1, "item": 2, "history": 3})
        self.assertEqual((features["user"], features.get("usr")), (1, None))
        with self.assertRaises(KeyError) as raised:
            features["usr"]
        self.assertEqual(str(raised.exception), "job.yaml has no feature 'usr'; it has user, item, history; did you mean user?")
        with self.assertRaises(KeyError) as raised:
            ct.Pooled({"user": 1})["xyz"]
        self.assertEqual(str(raised.exception), "job.yaml has no pooled feature 'xyz'; it has user")

    def test_shapes_that_do_not_fit_are_told_with_those_that_do(self):
        step, job, tensors = taken_step()
        model = torch.nn.Linear(2, 1)
        with self.assertRaisesRegex(ValueError, r"step gives one loss an example, a tensor of \[3\], and gave \[\]; use reduction=\"none\""):
            ct._train(model, tensors, lambda net, batch: net(batch.numbers).mean(), step, job)
        with self.assertRaisesRegex(ValueError, r"predict gives one logit an example, a tensor of \[3\], and gave \[3, 2\]"):
            ct._logits(model, lambda net, batch: batch.numbers, step, job)
        self.assertEqual(list(ct._logits(model, lambda net, batch: net(batch.numbers), step, job).shape), [3, 1])
        job.outputs = 4
        with self.assertRaisesRegex(ValueError, r"predict gives 4 logits an example, a tensor of \[3, 4\], and gave \[3, 2\]"):
            ct._logits(model, lambda net, batch: batch.numbers, step, job)

    def test_losses_that_depend_on_no_parameter_are_told_in_the_users_words(self):
        step, job, tensors = taken_step()
        with self.assertRaisesRegex(ValueError, "the losses that step gave depend on no parameter: they were detached"):
            ct._train(torch.nn.Linear(2, 1), tensors, lambda net, batch: net(batch.numbers).squeeze(1).detach(), step, job)

    def test_a_buffer_that_begins_with_infinities_is_nobodys_but_the_modules_own(self):
        model = torch.nn.Linear(2, 1)
        model.register_buffer("mask", torch.tensor([0, float("-inf")]))
        tensors = ct._Tensors(model)
        self.assertEqual(list(tensors.shapes()), ["bias", "weight"])
        tensors.take(types.SimpleNamespace(parameters=lambda: torch.ones(3)))
        tensors.results()
        model.mask[1] = 0
        with self.assertRaisesRegex(TypeError, r"^buffer mask of torch\.float32 has changed; only buffers of finite floats reach other workers$"):
            tensors.results()

    def test_a_module_that_a_step_has_put_into_evaluation_is_trained_in_the_next_one(self):
        class Frozen(torch.nn.BatchNorm1d):
            def train(self, mode=True):
                self.asked = getattr(self, "asked", 0) + 1
                return super().train(False)

        model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Sequential(torch.nn.Dropout()))
        tensors = ct._Tensors(model)
        model[1][0].eval()
        tensors.set_training()
        self.assertTrue(model[1][0].training)
        model = torch.nn.Sequential(torch.nn.Linear(2, 2), Frozen(2))
        tensors = ct._Tensors(model)
        for asked in (1, 2):
            tensors.set_training()
            self.assertEqual((model[1].training, model[1].asked), (False, asked), "a module's own train() is called each time")

    def test_a_buffer_that_a_step_puts_in_the_place_of_another_is_the_one_that_is_told_and_renewed(self):
        class Mean(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("mean", torch.zeros(2))

            def forward(self, numbers):
                self.mean = 0.5 * self.mean + numbers

        model = Mean()
        tensors = ct._Tensors(model)
        for pulled, told in (([4., 8.], [3., 5.]), ([0., 2.], [1., 2.])):
            tensors.take(types.SimpleNamespace(parameters=lambda: torch.tensor(pulled)))
            model(torch.ones(2))
            self.assertEqual(tensors.results()[0].tolist(), told)
        model.mean = torch.zeros(3)
        with self.assertRaisesRegex(TypeError, r"buffer mean has become \[3\] of torch.float32, and was \[2\] of torch.float32"):
            tensors.results()
        model = torch.nn.Linear(2, 1)
        tensors = ct._Tensors(model)
        model.weight = torch.nn.Parameter(torch.zeros(1, 2))
        with self.assertRaisesRegex(TypeError, "parameter weight is another tensor than when the job began"):
            tensors.results()
        model = torch.nn.Sequential(torch.nn.Linear(2, 1), torch.nn.Linear(1, 1))
        tensors = ct._Tensors(model)
        model[1] = torch.nn.Linear(1, 1)
        with self.assertRaisesRegex(TypeError, "parameter 1.bias is another tensor than when the job began"):
            tensors.results()

    def test_a_parameter_without_a_gradient_is_named_once(self):
        model = torch.nn.Sequential(torch.nn.Linear(2, 1), torch.nn.Linear(2, 1))
        model[1].weight.requires_grad = False
        tensors, said = ct._Tensors(model), io.StringIO()
        with contextlib.redirect_stderr(said):
            for step in range(25):
                for parameter in model.parameters():
                    parameter.grad = None
                model[0](torch.ones(1, 2)).sum().backward()
                tensors.results()
                self.assertEqual(bool(said.getvalue()), step >= 9)
        self.assertEqual(said.getvalue(), "capstan_ps: 1.bias: no gradient in 10 steps; is it used? declare what is not trained frozen, with "
                                          "requires_grad=False\n")

    def test_a_trained_parameter_that_is_written_in_place_is_named_once(self):
        model = torch.nn.ModuleDict({"bounded": torch.nn.Embedding(4, 2, max_norm=.1), "clipped": torch.nn.Linear(2, 1), "plain": torch.nn.Linear(2, 1)})
        tensors, said = ct._Tensors(model), io.StringIO()
        lost = ("written to in place, which reaches no shard and is gone at the next step; only gradients change what is trained: bound the values "
                "where they are used, as torch.nn.utils.parametrize does\n")
        with contextlib.redirect_stderr(said):
            for step in range(20):
                tensors.take(types.SimpleNamespace(parameters=lambda: torch.ones(8 + 2 * 3)))
                if step >= 12:  # Those that are written to from their first steps on are not all.
                    with torch.no_grad():
                        model["clipped"].weight.clamp_(max=.5)
                        model["clipped"].bias.zero_()
                embedded = model["bounded"](torch.tensor([step % 2])) if step >= 2 else torch.ones(1, 2)
                (model["clipped"](embedded) + model["plain"](embedded)).sum().backward()
                tensors.results()
                self.assertEqual(said.getvalue().count("written to"), (step >= 2) + (step >= 12))
        self.assertEqual([line for line in said.getvalue().splitlines(True) if "written to" in line],
                         [f"capstan_ps: bounded.weight: {lost}", f"capstan_ps: clipped.bias, clipped.weight: {lost}"])

    def test_a_parameter_that_was_frozen_when_the_job_began_cannot_be_trained_later(self):
        model = torch.nn.Sequential(torch.nn.Linear(2, 1), torch.nn.Linear(1, 1))
        model[0].requires_grad_(False)
        tensors = ct._Tensors(model)
        for step in range(3):
            tensors.take(types.SimpleNamespace(parameters=lambda: torch.ones(5)))
            if step == 2:
                model[0].weight.requires_grad_(True)
            model(torch.ones(1, 2)).sum().backward()
            if step < 2:
                tensors.results()
        with self.assertRaisesRegex(TypeError, r"^parameter 0\.weight has a gradient, and was frozen \(requires_grad=False\) when the job began: it "
                                               r"stays as it is; declare it trained in build, with requires_grad=True$"):
            tensors.results()

    def test_the_line_is_told_of_a_program_that_lies_below_the_prefix_of_python_or_beside_its_libraries(self):
        paths = sysconfig.get_paths()
        for folder in (paths["data"] + "/project", paths["purelib"] + "-project"):
            try:
                exec(compile("import json\njson.loads('{')", folder + "/model.py", "exec"), {})
            except ValueError as error:
                self.assertEqual(worker.place(error), "model.py:2", folder)

    def test_a_fork_is_refused_with_what_to_do_instead(self):
        before = os.fork, os.forkpty
        self.addCleanup(lambda: (setattr(os, "fork", before[0]), setattr(os, "forkpty", before[1])))
        worker._refuse_forks()
        loader = torch.utils.data.DataLoader([1, 2], num_workers=1, multiprocessing_context="fork")
        for forks in (os.fork, lambda: list(loader)):
            with self.assertRaisesRegex(RuntimeError, "whose threads a fork does not copy.*multiprocessing_context=\"spawn\""):
                forks()


if __name__ == "__main__":
    unittest.main(verbosity=2)
