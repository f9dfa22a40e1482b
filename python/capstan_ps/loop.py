"""Runs the process of a user's program, whatever library it computes with: as a worker of a job, or as the server of a trained model."""

import contextlib
import dataclasses
import random
import sys
import typing

from capstan_ps import self_check as _self_check
from capstan_ps import serving as _serving
from capstan_ps import user_program as _user_program
from capstan_ps import worker as _worker

UNUSED_AFTER = 10  # A tensor that has had no gradient in this many steps is reported.
SHOWN = 5  # How many names a line shows.


@dataclasses.dataclass(frozen=True)
class Computed:
    """The results of a step, as Step.finish takes them."""

    loss_sum: float
    rows: list     # For each table the gradient of its rows; None: zeros.
    tensors: list  # For each tensor its gradient, or a running tensor's new value; None: zeros, or unchanged.


def _finish(taken, computed):
    taken.finish(computed.loss_sum, computed.rows, computed.tensors)


@dataclasses.dataclass(frozen=True)
class Front:
    """The functions by which the loop computes with one library's arrays.

    - `begin(job)` returns the model with its initial values, and its tensors. The tensors have these methods: `declaration()`; `shapes()`,
      in the same order; `take(taken)`, which puts the parameters that the step has pulled into the model; `kept()`, which returns
      what steps change and `take` does not renew; and `put_back(kept)`, which undoes such changes.
    - `train(model, tensors, taken, job)` computes a step and returns a Computed.
    - `logits(model, taken, job)` returns the logits of the records, as finish_logits takes them.
    - `facts(job)` returns the facts on which the bits of the results depend.
    - `finish(taken, computed)` hands a Computed back to the worker; by default as arrays."""

    begin: typing.Callable
    train: typing.Callable
    logits: typing.Callable
    facts: typing.Callable
    finish: typing.Callable = _finish


class Work:
    """The program's work on a job. If the program fails or does not fit the job, this tells the worker so and ends the process."""

    def __init__(self, worker, front, job, step, predict):
        self.job, self._worker, self._front, self._step, self._predict = job, worker, front, step, predict
        try:
            self._model, self.tensors = front.begin(job)
        except _worker.Refused as error:
            _worker.refuse(worker, error)
        except KeyboardInterrupt:  # The program has no step yet, so nobody waits for it.
            worker.stop()
            worker.end()
            raise
        except BaseException as error:  # Also SystemExit and CancelledError: a program that ends itself has not built its model.
            _worker.fail(worker, None, error)
        if step is None:
            _worker.refuse(worker, "train() was given no step, which gives one loss an example")
        if job.evaluates and predict is None:
            _worker.refuse(worker, "job.yaml holds records out (data.eval), and train() was given no predict")
        self._check = _self_check.is_wanted(job)

    def do(self, taken):
        """Computes and finishes the step. Returns its Computed, or for an evaluation the logits."""
        if taken.evaluates:
            return self.predict(taken)
        with self._told(taken, self._step):
            computed = self._trained(taken)
            self._front.finish(taken, computed)
        return computed

    def predict(self, taken):
        """Returns the logits of the step's records. If the step is one of an evaluation, this also finishes it."""
        with self._told(taken if taken.evaluates else None, self._predict):
            self.tensors.take(taken)
            logits = self._front.logits(self._model, taken, self.job)
            if taken.evaluates:
                taken.finish_logits(logits)
        return logits

    def _trained(self, taken):
        """Returns the Computed of the step. In a synchronous job the first step of a process is computed twice, and a difference is
        reported."""
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
        """Reports the failures of `function`, which is the user's and computes the step `taken` in this context."""
        try:
            yield
        except KeyboardInterrupt as error:  # The work of this worker goes to others.
            if taken is not None:
                _worker.hand_back(taken, error)
            self._worker.stop()
            self._worker.end()
            raise
        except BaseException as error:  # Also SystemExit and CancelledError: otherwise the chief would not hear of it.
            _worker.fail(self._worker, taken, error, function)


def run(front, step, predict):
    """Works on the job that the environment names until the job is over, and then ends the process. The exit code is 0 if the job is over
    or this worker was asked to end; 1 if the job was started over with other settings than the program was given, so another process has
    to build the model; 2 if the program and the job do not fit; 3 if the program has failed.

    Under `capstan serve --program` there is no job: the process computes the requested scores by `predict`. With `--try job.yaml` the
    program is tried on some batches of that job."""
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
    """Returns the results of predict as a list: one array for each label, or the only one. ValueError: they have the wrong shape or type.
    `kind` is the type of the library's arrays, and `word` its name in error messages."""
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
    """Reports once the tensors that had no gradient in a worker's first steps. This is most often a mistake, and such a tensor costs as
    much as any other."""

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
    """Returns a text with the first names, and the number of the others."""
    return ", ".join(names[:SHOWN]) + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")


def number_of(taken, job):
    """Returns the seed of a step's random draws. It is the same for the same batch, whichever worker computes it."""
    return _mix(_mix(job.seed, taken.stream), taken.seq)


def _mix(a, b):
    """Mixes both numbers into one, as splitmix64 does."""
    z = (a ^ (b * 0x9E3779B97F4A7C15)) & 0xFFFFFFFFFFFFFFFF
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & 0xFFFFFFFFFFFFFFFF
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & 0xFFFFFFFFFFFFFFFF
    return z ^ (z >> 31)


def seed(number):
    """Seeds Python's generator, and NumPy's if the program uses NumPy."""
    random.seed(number)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(number & 0xFFFFFFFF)
