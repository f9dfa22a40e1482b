"""deploy/examples/python/recommender.py with gradients by hand. It begins with the values in the file of the environment's INITIAL."""

import os

import numpy as np

import capstan_ps.numpy as cn

FEATURES = {"user": "sums", "item": "sums", "history": "means", "city": "sums"}


def build(job):
    with np.load(os.environ["INITIAL"]) as initial:
        return dict(initial)


def forward(params, batch):
    pooled = {name: getattr(batch.features[name], pooling)() for name, pooling in FEATURES.items()}
    inputs = np.concatenate([*pooled.values(), batch.numbers], 1)
    hidden = np.maximum(inputs @ params["mlp.0.weight"].T + params["mlp.0.bias"], 0)
    logit = (hidden @ params["mlp.2.weight"].T + params["mlp.2.bias"])[:, 0] + (pooled["history"] * pooled["item"]).sum(1)
    return logit, hidden, inputs, pooled


def step(params, batch):
    logit, hidden, inputs, pooled = forward(params, batch)
    losses = np.logaddexp(0, logit) - batch.labels * logit
    of_logit = ((1 / (1 + np.exp(-logit)) - batch.labels) * batch.scale)[:, None]
    of_hidden = of_logit * params["mlp.2.weight"] * (hidden > 0)
    of_inputs = of_hidden @ params["mlp.0.weight"]
    ends = np.cumsum([of.shape[1] for of in pooled.values()])
    of_pooled = dict(zip(pooled, np.split(of_inputs, ends, axis=1)))
    of_pooled["history"] = of_pooled["history"] + of_logit * pooled["item"]
    of_pooled["item"] = of_pooled["item"] + of_logit * pooled["history"]
    of_rows = {name: getattr(batch.features[name], f"{pooling}_grad")(of_pooled[name]) for name, pooling in FEATURES.items()}
    return losses, cn.Gradients(
        {"mlp.0.weight": of_hidden.T @ inputs, "mlp.0.bias": of_hidden.sum(0), "mlp.2.weight": of_logit.T @ hidden, "mlp.2.bias": of_logit.sum(0)},
        {"user": of_rows["user"], "item": of_rows["item"] + of_rows["history"], "city": of_rows["city"]})


def predict(params, batch):
    return forward(params, batch)[0]
