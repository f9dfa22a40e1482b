"""`python model.py --try job.yaml`: computes some batches of the job's data in this process, without a chief and without shards. The
parameters have their initial values, and nothing is learned."""

import os
import shlex
import shutil
import sys

from capstan_ps import _capstan
from capstan_ps import loop as _loop
from capstan_ps import worker as _worker

FLAG = "--try"
BATCHES = 3
SHOWN = 6  # How many names a line shows.


def job_file():
    """Returns the job file that the command line names after --try; None if there is no --try."""
    arguments = sys.argv[1:]
    for place, argument in enumerate(arguments):
        if argument.startswith(FLAG + "="):
            return argument[len(FLAG) + 1:]
        if argument == FLAG:
            if place + 1 == len(arguments):
                _worker.refuse(_Nobody, f"{FLAG} names a job file: {FLAG} job.yaml")
            return arguments[place + 1]
    return None


def _own_arguments():
    """Returns the arguments of the command line without --try and its job file."""
    arguments, own = iter(sys.argv[1:]), []
    for argument in arguments:
        if argument == FLAG:
            next(arguments)  # The job file.
        elif not argument.startswith(FLAG + "="):
            own.append(argument)
    return own


def python_command():
    """Returns a command that runs this Python: `python` if that is this one, otherwise the command by which it was called."""
    return next(filter(_is_this_python, ("python", getattr(sys, "orig_argv", [""])[0])), sys.executable)


def _is_this_python(command):
    """Returns whether the command runs this Python. The folder has to be the same, too: the python of a virtual environment is a link to
    the one that has created it."""
    found = shutil.which(command)
    return bool(found) and (os.path.dirname(os.path.abspath(found)) == os.path.dirname(sys.executable)
                            and os.path.samefile(found, sys.executable))


def run(path, front, step, predict):
    """Tries the program, and ends the process. The exit code is 0, or the one with which the program would end in the job."""
    try:
        trial = _capstan.Trial(path)
    except ValueError as error:
        _worker.refuse(_Nobody, error)
    job = trial.job
    work = _loop.Work(_Nobody, front, job, step, predict)
    declaration = work.tensors.declaration()
    try:
        trial.declare(declaration, _loop.outputs(job) if predict else [])
    except ValueError as error:
        _worker.refuse(_Nobody, error)
    last, unused = _train(trial, work, declaration)
    if unused:
        print(f"no gradient  {_some(unused)}: declare frozen what is not trained")
    if predict:
        _predict(trial, work, last)
    print(f"fits  capstan train {path} --worker {shlex.quote(shlex.join([python_command(), sys.argv[0], *_own_arguments()]))}", flush=True)
    raise SystemExit(0)


class _Nobody:
    """Stands in for the worker, which a trial does not have: no chief is told of failures, and no work is handed to others."""

    @staticmethod
    def fail(*_):
        pass

    stop = end = fail


def _take(trial, held_out):
    try:
        return trial.take(held_out=held_out)
    except ValueError as error:
        _worker.refuse(_Nobody, error)


def _train(trial, work, declaration):
    """Trains some batches. Returns the last step, and the names of the tensors that had no gradient in any."""
    last, unused = None, {name for name, role, *_ in declaration if role == "trained"}
    for number in range(BATCHES):
        taken = _take(trial, held_out=False)
        if taken is None:
            break
        if last is None:
            _tell_batch(taken, work.job)
            _tell_tensors(declaration)
        last = taken
        computed = work.do(taken)
        unused -= {name for (name, *_), gradient in zip(declaration, computed.tensors) if gradient is not None}
        odd = "; it is not finite, and would be dropped" if taken.nonfinite else ""
        print(f"batch {number}  loss {computed.loss_sum / taken.examples:.6g}, a gradient of length {taken.gradient_norm:.4g}{odd}", flush=True)
    if last is None:
        _worker.refuse(_Nobody, "the training data have no records")
    return last, sorted(unused)


def _predict(trial, work, last):
    """Computes the logits of held-out records or, if the job has none, of the records that were trained last."""
    taken = _take(trial, held_out=True) if work.job.evaluates else None
    logits = work.predict(taken or last)
    print(f"predict  logits of {list(logits.shape)}, of {'held-out' if taken else 'training'} records", flush=True)


# ---- the report ----

def _tell_batch(taken, job):
    print("read  " + "; ".join(_parts(taken, job)))


def _parts(taken, job):
    names = f" {_some([label.name for label in job.labels])}," if job.labels else ""
    yield f"labels{names} {[taken.examples]}"
    if (weights := taken.weights()) is not None:
        yield f"weights {_shape(weights)}"
    if job.image:
        yield f"images {[taken.examples, job.channels, *job.image]}"
    elif job.numbers:
        yield f"numbers {_shape(taken.numbers())}"
    for place, feature in enumerate(job.features):
        keys = memoryview(taken.feature_offsets(place))[-1]
        yield f"feature {feature.name}, {keys} keys, rows of table {job.tables[feature.table]} {_shape(taken.rows(feature.table))}"
    if job.dims and not job.features:
        yield f"{memoryview(taken.offsets())[-1]} keys, distinct rows {_shape(taken.rows(0))}"
    if (drawn := taken.negatives()) is not None:
        yield f"{_shape(drawn[2])[0]} negatives of feature {job.features[drawn[0]].name}"


def _tell_tensors(declaration):
    for role in ("trained", "running", "frozen"):
        own = [(name, shape) for name, of, shape, _ in declaration if of == role]
        if own:
            print(f"{role}  {len(own)} tensors: {_some([f'{name} {shape}' for name, shape in own])}")


def _shape(handed):
    return list(memoryview(handed).shape)


def _some(names):
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more
