"""Capstan in Python: workers whose computing is their own (capstan_ps.torch), trained models (`load`), and jobs that run
(`connect`). See docs/python.md."""

from capstan_ps import _capstan

__version__ = _capstan.version


def load(path):
    """The trained model of a checkpoint or an export: see capstan_ps.model. It needs NumPy."""
    from capstan_ps import model
    return model.load(path)


def connect(chief=None, **options):
    """The job that is led by the chief at this address, by default localhost:7000, or that of a release on Kubernetes: see
    capstan_ps.client. It needs NumPy."""
    from capstan_ps import client
    return client.connect(chief, **options)
