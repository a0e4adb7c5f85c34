"""Pure parsers: text in, typed dict out; no I/O, and no other error than ParseError.

Nothing else stands here, so that a module ships only the parsers it imports. `from ..parsers import lscpu` names one and ships it; it is
imported when its tool has answered: of some hundred a node needs a few dozen, and none of them comes to it compiled.
"""

from __future__ import annotations

import functools
import importlib


class ParseError(ValueError):
    """The text is not what the tool prints, or it is cut. The message is one line and quotes where."""


class _Later:
    """A parser not yet imported. Its parse functions can be handed on without importing it; whatever else is asked of it imports it."""

    def __init__(self, name):
        self._module = name

    def __getattr__(self, name):
        if name.startswith("parse"):
            return functools.partial(_parse, self._module, name)
        return getattr(importlib.import_module(self._module), name)


def _parse(module, name, *args, **kwargs):
    return getattr(importlib.import_module(module), name)(*args, **kwargs)


def __getattr__(name):
    if name.startswith("_"):
        raise AttributeError(name)
    return _Later(__name__ + "." + name)
