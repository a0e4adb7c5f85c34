"""Pure parsers: text in, typed dict out; no I/O, and no other error than ParseError.

Nothing else stands here, so that a module ships only the parsers it imports.
"""

from __future__ import annotations


class ParseError(ValueError):
    """The text is not what the tool prints, or it is cut. The message is one line and quotes where."""
