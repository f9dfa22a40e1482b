"""Capstan in Python: workers that compute with the user's own program (capstan_ps.torch, capstan_ps.numpy), trained models (`load`),
and clients of running jobs (`connect`). See docs/python.md."""

from capstan_ps import _capstan

__version__ = _capstan.version


def load(path):
    """Returns the trained model of a checkpoint or an export: see capstan_ps.model. Needs NumPy."""
    from capstan_ps import model
    return model.load(path)


def connect(chief=None, **options):
    """Returns the running job of the chief at this address, by default localhost:7000, or of a release on Kubernetes: see
    capstan_ps.client. Needs NumPy."""
    from capstan_ps import client
    return client.connect(chief, **options)
