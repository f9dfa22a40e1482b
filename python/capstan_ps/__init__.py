"""Capstan's worker for programs whose computing is their own: see docs/python.md, and capstan_ps.torch."""

from capstan_ps import _capstan

__version__ = _capstan.version


def load(path):
    """The trained model of a checkpoint or an export: see capstan_ps.model. It needs NumPy."""
    from capstan_ps import model
    return model.load(path)
