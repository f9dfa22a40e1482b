"""The life of a process of a user's program, whatever library it computes with: it works on the job, or serves a trained model."""

import contextlib
import dataclasses
import random
import sys
import typing

from capstan_ps import self_check as _self_check
from capstan_ps import serving as _serving
from capstan_ps import user_program as _user_program
from capstan_ps import worker as _worker

UNUSED_AFTER = 10  # Steps without a gradient, of which it is told.
SHOWN = 5  # Names in a line.


@dataclasses.dataclass(frozen=True)
class Computed:
    """What came out of a step, as Step.finish takes it."""

    loss_sum: float
    rows: list     # Of each table the gradient of its rows; None: zeros.
    tensors: list  # Of each tensor its gradient, or what it has become if it is running; None: zeros, or nothing else.


def _finish(taken, computed):
    taken.finish(computed.loss_sum, computed.rows, computed.tensors)


@dataclasses.dataclass(frozen=True)
class Front:
    """What a program computes, in the arrays of its library. `begin(job)` gives the model as the job begins and its tensors, which have
    `declaration()`, `shapes()` in the order of that, and `take(taken)`; `kept()` is what steps change beside what `take` renews, and
    `put_back(kept)` undoes that. `train(model, tensors, taken, job)` gives what a step has Computed; `logits(model, taken, job)` those of
    records as finish_logits takes them; `facts(job)` are what bits depend on. `finish(taken, computed)` hands
    back what was Computed; default: as arrays."""

    begin: typing.Callable
    train: typing.Callable
    logits: typing.Callable
    facts: typing.Callable
    finish: typing.Callable = _finish


class Work:
    """The program's part of a job, which ends the process, and tells the worker, where it fails or does not fit."""

    def __init__(self, worker, front, job, step, predict):
        self.job, self._worker, self._front, self._step, self._predict = job, worker, front, step, predict
        try:
            self._model, self.tensors = front.begin(job)
        except _worker.Refused as error:
            _worker.refuse(worker, error)
        except KeyboardInterrupt:  # Nobody has given it a step, so nobody waits for it.
            worker.stop()
            worker.end()
            raise
        except BaseException as error:  # Also sys.exit() and what asyncio cancels: a program that ends itself has not built its model.
            _worker.fail(worker, None, error)
        if step is None:
            _worker.refuse(worker, "train() was given no step, which gives one loss an example")
        if job.evaluates and predict is None:
            _worker.refuse(worker, "job.yaml holds records out (data.eval), and train() was given no predict")
        self._check = _self_check.is_wanted(job)

    def do(self, taken):
        """Finishes the step. Returns what was Computed, or the logits."""
        if taken.evaluates:
            return self.predict(taken)
        with self._told(taken, self._step):
            computed = self._trained(taken)
            self._front.finish(taken, computed)
        return computed

    def predict(self, taken):
        """The logits of the step's records. It is finished by them if that is what it is for."""
        with self._told(taken if taken.evaluates else None, self._predict):
            self.tensors.take(taken)
            logits = self._front.logits(self._model, taken, self.job)
            if taken.evaluates:
                taken.finish_logits(logits)
        return logits

    def _trained(self, taken):
        """What was Computed. The first step of a process is computed twice, and what differs is told."""
        def train(step):
            return self._front.train(self._model, self.tensors, step, self.job)
        if not self._check:
            return train(taken)
        self._check = False
        computed, differs = _self_check.twice(train, taken, self.tensors, self.job)
        if differs is not None:
            print(f"capstan_ps: {_self_check.warning(differs)}", file=sys.stderr, flush=True)
        return computed

    @contextlib.contextmanager
    def _told(self, taken, function):
        """Around `function`, the user's, which computes what was taken."""
        try:
            yield
        except KeyboardInterrupt as error:  # What this worker holds goes to others.
            if taken is not None:
                _worker.hand_back(taken, error)
            self._worker.stop()
            self._worker.end()
            raise
        except BaseException as error:  # Also sys.exit() and what asyncio cancels: nobody else would tell the chief, or compute the step.
            _worker.fail(self._worker, taken, error, function)


def run(front, step, predict):
    """Works on the job of the environment until that is over, and ends the process: 0: the job is over, or this worker
    was asked to end; 1: the job has begun anew as another one than the program was given, so that another process is to build its model;
    2: the program and the job do not fit; 3: the program has failed. Under `capstan serve --program` it computes
    the scores that are asked for, by `predict`, and no job is there; with `--try job.yaml` it is tried on some batches of that job."""
    _user_program.take(front, step, predict)
    from capstan_ps import trial as _trial
    if (path := _trial.job_file()) is not None:
        _trial.run(path, front, step, predict)
    if (to := _serving.channel()) is not None:
        _serve(to, front, predict)
    worker = _worker.from_environment()
    job = _worker.await_job(worker)
    if job is None:
        raise SystemExit(worker.end())
    work = Work(worker, front, job, step, predict)
    worker.declare(work.tensors.declaration(), outputs(job) if predict else [], front.facts(job), _worker.name())
    for taken in _worker.steps(worker):
        work.do(taken)
    raise SystemExit(worker.end())


def _serve(to, front, predict):
    def begin(job):
        if predict is None:
            raise _worker.Refused("train() was given no predict, which gives the scores that are served")
        return front.begin(job)
    _serving.serve(to, begin, front.logits)


def outputs(job):
    return [label.name for label in job.labels] or ["label"]


def logits_of(found, job, examples, kind, word):
    """What predict gave, in a list: of each label by its name, or the only one. `kind`: the library's arrays, which people call `word`."""
    if job.labels:
        return _of_labels(found, examples, outputs(job), kind, word)
    wanted = [examples] if job.outputs == 1 else [examples, job.outputs]
    one = isinstance(found, kind) and job.outputs == 1 and list(found.shape) == [examples, 1]
    if not one and shape_of(found, kind) != wanted:
        many = "one logit" if job.outputs == 1 else f"{job.outputs} logits"
        raise ValueError(f"predict gives {many} an example, {word} of {wanted}, and gave {shape_of(found, kind)}")
    return [found]


def _of_labels(found, examples, names, kind, word):
    if not isinstance(found, dict) or set(found) != set(names):
        gave = f"of {', '.join(sorted(map(str, found)))}" if isinstance(found, dict) else type(found).__name__
        raise ValueError(f"predict gives the logits of {', '.join(names)}, by name, and gave {gave}")
    for name in names:
        if shape_of(found[name], kind) != [examples]:
            raise ValueError(f"predict gives one logit an example, {word} of [{examples}], and gave {shape_of(found[name], kind)} for {name}")
    return [found[name] for name in names]


def shape_of(value, kind):
    return list(value.shape) if isinstance(value, kind) else type(value).__name__


class Unused:
    """Tells once of tensors that had no gradient in a worker's first steps: that is most often a mistake, and costs as much as any other."""

    def __init__(self, names, advice):
        self._names, self._advice, self._steps = set(names), advice, 0

    def saw(self, used):
        if self._steps == UNUSED_AFTER:
            return
        self._steps += 1
        self._names -= set(used)
        if self._steps == UNUSED_AFTER and self._names:
            print(f"capstan_ps: {some(sorted(self._names))}: no gradient in {UNUSED_AFTER} steps; {self._advice}", file=sys.stderr)


def some(names):
    """The first names, and how many there are besides."""
    return ", ".join(names[:SHOWN]) + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")


def number_of(taken, job):
    """What the draws of a step begin with: those of the same batch are the same, whoever computes it."""
    return _mix(_mix(job.seed, taken.stream), taken.seq)


def _mix(a, b):
    """Both numbers, stirred: splitmix64's."""
    z = (a ^ (b * 0x9E3779B97F4A7C15)) & 0xFFFFFFFFFFFFFFFF
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & 0xFFFFFFFFFFFFFFFF
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & 0xFFFFFFFFFFFFFFFF
    return z ^ (z >> 31)


def seed(number):
    """Of Python's own draws, and of NumPy's where the program uses it."""
    random.seed(number)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(number & 0xFFFFFFFF)
