"""Capstan's worker for programs whose computing is their own: see docs/python.md, and capstan_ps.torch."""

from capstan_ps import _capstan

__version__ = _capstan.version
