"""Models of PyTorch on Capstan's shards.

    import capstan_ps.torch as ct
    ct.train(Model, step, predict)

`Model(job)` builds the module. `step(model, batch)` gives one loss an example, and `predict(model, batch)` the logits of
a batch that is held out: a tensor, or, of several labels, one for each by its name. The parameters live on the shards: each step sees those that it has pulled, and its gradients
are pushed; what optimizers do with them is job.yaml's. docs/python.md tells the whole of it."""

import random
import sys

import torch
from torch import nn

from capstan_ps import serving as _serving
from capstan_ps import worker as _worker
from capstan_ps.batch import Bags, Batch, Named  # noqa: F401  Programs know them by this name.


UNUSED_AFTER = 10  # Steps without a gradient, of which it is told.


class Embeddings(nn.Module):
    """The embeddings of a record's keys: [examples, job.fields, job.dim]. It has no parameters of its own: rows are on
    the shards, and appear when their keys do."""

    def __init__(self, job):
        super().__init__()
        if job.fields == 0:
            raise ValueError("records have no fixed number of keys; use capstan_ps.torch.EmbeddingBag")
        self.fields, self.dim = job.fields, job.dim
        self.width = job.fields * job.dim

    def forward(self, batch):
        return batch.bags.each().view(batch.examples, self.fields, self.dim)


class EmbeddingBag(nn.Module):
    """The sum of the embeddings of a record's keys, each times its value: [examples, job.dim], for any number of keys."""

    def __init__(self, job):
        super().__init__()
        self.width = job.dim

    def forward(self, batch):
        return batch.bags.sums()


class Pooled:
    """What an EmbeddingBagCollection gives: `self["user"]` is [examples, dim]."""

    def __init__(self, pooled):
        self._pooled = Named("pooled feature", pooled)

    def __getitem__(self, name):
        return self._pooled[name]

    def values(self):
        """All side by side, in the order of job.yaml: [examples, width]."""
        return torch.cat(list(self._pooled.values()), 1)


class EmbeddingBagCollection(nn.Module):
    """The pooled embeddings of data.features, by their names; those with `pooling: none` are in `Sequences`. It has no
    parameters of its own: rows are on the shards, and appear when their keys do."""

    def __init__(self, job):
        super().__init__()
        pooled = [feature for feature in job.features if feature.pooling != "none"]
        if not pooled:
            raise ValueError("job.yaml has no data.features that are pooled")
        self._pooling = {feature.name: feature.pooling for feature in pooled}
        self.width = sum(job.dims[feature.table] for feature in pooled)

    def forward(self, batch):
        bags = batch.features
        return Pooled({name: bags[name].means() if pooling == "mean" else bags[name].sums()
                       for name, pooling in self._pooling.items()})


class Sequences(nn.Module):
    """A feature with `pooling: none`: [examples, most, dim], zeros behind a record's last key, and a mask [examples, most]
    that is true where there is one."""

    def __init__(self, job, name):
        super().__init__()
        found = [feature for feature in job.features if feature.name == name]
        if not found or found[0].pooling != "none":
            names = [feature.name for feature in job.features if feature.pooling == "none"]
            raise ValueError(f"data.features has no {name!r} with pooling: none; there are {', '.join(names) or 'none'}")
        self.name, self.most = name, found[0].most

    def forward(self, batch):
        return batch.features[self.name].padded(self.most)


def train(build, step, predict=None):
    """Works on the job of the environment until that is over, and ends the process: 0: the job is over, or this worker
    was asked to end; 2: the program and the job do not fit; 3: the program has failed. Under `capstan serve --program` it computes
    the scores that are asked for, by `predict`, and no job is there."""
    if (to := _serving.channel()) is not None:
        _serve(to, build, predict)
    worker = _worker.from_environment()
    job = _worker.await_job(worker)
    if job is None:
        raise SystemExit(worker.end())
    try:
        model, tensors = _begin(build, job)
    except _worker.Refused as error:
        _worker.refuse(worker, error)
    except Exception as error:
        _worker.fail(worker, None, error)
    except BaseException:  # Ctrl-C. Nobody has given it a step, so nobody waits for it.
        worker.stop()
        worker.end()
        raise
    if job.evaluates and predict is None:
        _worker.refuse(worker, "job.yaml holds records out (data.eval), and train() was given no predict")
    worker.declare(tensors.declaration(), _outputs(job) if predict else [], _facts(job), _worker.name())
    for taken in _worker.steps(worker):
        try:
            if taken.evaluates:
                _evaluate(model, tensors, predict, taken, job)
            else:
                _train(model, tensors, step, taken, job)
        except Exception as error:
            _worker.fail(worker, taken, error)
        except BaseException:  # Ctrl-C: what this worker holds goes to others.
            worker.stop()
            worker.end()
            raise
    raise SystemExit(worker.end())


def _serve(to, build, predict):
    def begin(job):
        if predict is None:
            raise _worker.Refused("train() was given no predict, which gives the scores that are served")
        return _begin(build, job)
    _serving.serve(to, begin, lambda model, asked, job: _logits(model, predict, asked, job))


def _begin(build, job):
    """The module as the job begins, and its tensors."""
    torch.set_num_threads(job.step_threads)
    if job.synchronous:
        torch.use_deterministic_algorithms(True)
    _seed(job.seed)
    model = build(job)
    return model, _Tensors(model)


def _train(model, tensors, step, taken, job):
    tensors.take(taken)
    batch = Batch(taken, job)
    for rows in batch.tables:
        rows.requires_grad_(rows.numel() > 0)
    # The same batch has the same draws, whoever computes it.
    _seed(_mix(_mix(job.seed, taken.stream), taken.seq))
    model.train()
    losses = step(model, batch)
    if not isinstance(losses, torch.Tensor) or tuple(losses.shape) != (batch.examples,):
        hint = "; use reduction=\"none\": the mean of them is taken afterwards" if isinstance(losses, torch.Tensor) and not losses.dim() else ""
        raise ValueError(f"step gives one loss an example, a tensor of [{batch.examples}], and gave {_shape_of(losses)}{hint}")
    if batch.weights is not None:
        losses = losses * batch.weights
    (losses.sum() if job.sum_loss else losses.mean()).backward()
    gradients = [None if rows.grad is None else rows.grad.contiguous() for rows in batch.tables]
    taken.finish(float(losses.detach().double().sum()), gradients, tensors.results())


def _evaluate(model, tensors, predict, taken, job):
    tensors.take(taken)
    taken.finish_logits(_logits(model, predict, taken, job))


def _logits(model, predict, taken, job):
    model.eval()
    with torch.no_grad():
        logits = predict(model, Batch(taken, job))
        if job.labels:
            logits = _of_labels(logits, taken.examples, _outputs(job))
        else:
            _check_logits(logits, taken.examples, job.outputs)
    return logits.detach().float().contiguous()


def _shape_of(value):
    return list(value.shape) if isinstance(value, torch.Tensor) else type(value).__name__


def _check_logits(logits, examples, outputs):
    wanted = [examples] if outputs == 1 else [examples, outputs]
    one = isinstance(logits, torch.Tensor) and outputs == 1 and list(logits.shape) == [examples, 1]
    if not one and _shape_of(logits) != wanted:
        many = "one logit" if outputs == 1 else f"{outputs} logits"
        raise ValueError(f"predict gives {many} an example, a tensor of {wanted}, and gave {_shape_of(logits)}")


def _outputs(job):
    return [label.name for label in job.labels] or ["label"]


def _of_labels(logits, examples, names):
    """What predict gave for each of several labels, side by side."""
    if not isinstance(logits, dict) or set(logits) != set(names):
        gave = f"of {', '.join(sorted(map(str, logits)))}" if isinstance(logits, dict) else type(logits).__name__
        raise ValueError(f"predict gives the logits of {', '.join(names)}, by name, and gave {gave}")
    for name in names:
        if tuple(logits[name].shape) != (examples,):
            raise ValueError(f"predict gives one logit an example, a tensor of [{examples}], and gave {list(logits[name].shape)} "
                             f"for {name}")
    return torch.stack([logits[name] for name in names], 1)


class _Tensors:
    """The module's parameters and buffers in the order of their names, and the memory of the shards' vector in them."""

    def __init__(self, model):
        for where, module in model.named_modules():
            if getattr(module, "track_running_stats", False) and getattr(module, "momentum", 0) is None:
                raise _worker.Refused(f"{where}: momentum=None counts batches, which no worker sees all of; give it a momentum")
        found = {name: (tensor, "trained" if tensor.requires_grad else "frozen")
                 for name, tensor in model.named_parameters()}
        self._counters = {}
        for name, tensor in model.named_buffers():
            if tensor.is_floating_point():
                found[name] = (tensor, "running")
            elif name.rpartition(".")[2] != "num_batches_tracked":
                self._counters[name] = (tensor, tensor.clone())
        for name, (tensor, _) in found.items():
            if tensor.dtype != torch.float32 or tensor.device.type != "cpu":
                raise _worker.Refused(f"{name} is {tensor.dtype} on {tensor.device}; expected torch.float32 on the CPU")
            if tensor.numel() == 0:
                raise _worker.Refused(f"{name} has no elements")
        # As the chief sorts them: by their bytes.
        self._all = [(name, *found[name]) for name in sorted(found, key=str.encode)]
        self._steps = 0
        self._unused = {name for name, _, role in self._all if role == "trained"}  # Of which no step had a gradient.

    def declaration(self):
        return [(name, role, list(tensor.shape), tensor.detach().contiguous()) for name, tensor, role in self._all]

    def fit(self, shapes):
        """Refuses a program whose tensors have other names or shapes than the model's, {name: shape}."""
        own = {name: list(tensor.shape) for name, tensor, _ in self._all}
        for name in sorted({*own, *shapes}, key=str.encode):
            if own.get(name) != shapes.get(name):
                program, model = (f"a tensor of {of[name]}" if name in of else "no such tensor" for of in (own, shapes))
                raise _worker.Refused(f"{name}: the program has {program}, and the model {model}")

    def take(self, taken):
        """What the step has pulled becomes the module's: parameters are views of it, buffers copies."""
        flat, begin = taken.parameters(), 0
        with torch.no_grad():
            for _, tensor, role in self._all:
                view = flat[begin:begin + tensor.numel()].view(tensor.shape)
                begin += tensor.numel()
                if role == "running":
                    tensor.copy_(view)
                else:
                    tensor.data, tensor.grad = view, None

    def results(self):
        """A gradient for what is trained, and what buffers have become."""
        for name, (tensor, before) in self._counters.items():
            if not torch.equal(tensor, before):
                raise TypeError(f"buffer {name} of {tensor.dtype} has changed; only float buffers reach other workers")
        self._tell_unused()
        return [self._result(tensor, role) for _, tensor, role in self._all]

    def _tell_unused(self):
        """Once: a parameter that is not used is most often a mistake, and costs as much as any other."""
        if self._steps == UNUSED_AFTER:
            return
        self._steps += 1
        self._unused -= {name for name, tensor, _ in self._all if tensor.grad is not None}
        if self._steps == UNUSED_AFTER and self._unused:
            names = sorted(self._unused)
            more = f" and {len(names) - 5} more" if len(names) > 5 else ""
            print(f"capstan_ps: {', '.join(names[:5])}{more}: no gradient in {UNUSED_AFTER} steps; is it used? declare what is not "
                  "trained frozen, with requires_grad=False", file=sys.stderr)

    @staticmethod
    def _result(tensor, role):
        if role == "frozen" or role == "trained" and tensor.grad is None:
            return None
        result = tensor.detach() if role == "running" else tensor.grad
        return (result.to_dense() if result.is_sparse else result).contiguous()


def _mix(a, b):
    """Both numbers, stirred: splitmix64's."""
    z = (a ^ (b * 0x9E3779B97F4A7C15)) & 0xFFFFFFFFFFFFFFFF
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & 0xFFFFFFFFFFFFFFFF
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & 0xFFFFFFFFFFFFFFFF
    return z ^ (z >> 31)


def _seed(number):
    torch.manual_seed(number & 0x7FFFFFFFFFFFFFFF)
    random.seed(number)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(number & 0xFFFFFFFF)


def _facts(job):
    return {"torch": torch.__version__, "threads": str(job.step_threads), "python": sys.version.split()[0],
            "blas": "mkl" if torch.backends.mkl.is_available() else "other"}
