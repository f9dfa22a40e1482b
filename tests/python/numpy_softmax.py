"""A softmax of the pixels of images, with gradients by hand."""

import numpy as np

import capstan_ps.numpy as cn


def build(job):
    return {"weight": np.zeros((job.outputs, job.numbers), np.float32)}


def predict(params, batch):
    return batch.images.reshape(len(batch), -1) @ params["weight"].T


def step(params, batch):
    logits = predict(params, batch)
    shares = np.exp(logits - logits.max(1, keepdims=True))
    shares /= shares.sum(1, keepdims=True)
    of_label = np.arange(len(batch)), batch.labels.astype(int)
    losses = -np.log(shares[of_label])
    shares[of_label] -= 1
    return losses, cn.Gradients({"weight": (shares * batch.scale[:, None]).T @ batch.numbers})
