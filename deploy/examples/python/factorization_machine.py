"""A factorization machine in NumPy, with gradients that are computed by hand: capstan train factorization_machine.yaml --worker 'python3 factorization_machine.py'"""

import numpy as np

import capstan_ps.numpy as cn


def build(job):
    """Returns the initial dense tensors. The shards create rows of embeddings when their keys are first trained."""
    return {"bias": np.zeros(1, np.float32)}


def logits(params, batch):
    """The first column of a key's row is its weight. The others are its factors, of which each pair of keys takes the product."""
    rows = batch.bags.each().reshape(batch.examples, -1, batch.rows.shape[1])  # [examples, fields, dim]
    weights, factors = rows[:, :, 0], rows[:, :, 1:]
    sums = factors.sum(1)
    pairs = ((sums**2).sum(1) - (factors**2).sum((1, 2))) / 2
    return params["bias"] + weights.sum(1) + pairs, factors, sums


def step(params, batch):
    """Returns one loss for each example, and the gradients of the sum of the losses, each times `batch.scale`."""
    logit, factors, sums = logits(params, batch)
    losses = np.logaddexp(0, logit) - batch.labels * logit
    of_logit = (1 / (1 + np.exp(-logit)) - batch.labels) * batch.scale
    of_rows = np.empty((*factors.shape[:2], factors.shape[2] + 1), np.float32)
    of_rows[:, :, 0] = of_logit[:, None]
    of_rows[:, :, 1:] = of_logit[:, None, None] * (sums[:, None] - factors)
    of_table = batch.bags.each_grad(of_rows.reshape(-1, of_rows.shape[2]))
    return losses, cn.Gradients({"bias": of_logit.sum(keepdims=True)}, {"features": of_table})


def predict(params, batch):
    """Returns the logits of a held-out batch."""
    return logits(params, batch)[0]


if __name__ == "__main__":
    cn.train(build, step, predict)
