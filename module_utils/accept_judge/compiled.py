"""The project's own standards kept as Python keeps its modules: by the digest of their text, read again when the text is another.

Reading them costs a tenth of a second, more than judging a node by them. What is kept is only ever what a text of this very digest
says, and it is checked against its schema each time. Standards that lie elsewhere are read as they are.
"""

from __future__ import annotations

import contextlib
import hashlib
import marshal
import os
import sys
from pathlib import Path

from . import documents

ROOT = Path(__file__).resolve().parents[2]


class Compiled:
    """Reads the documents of one folder; `keep()` writes what was new."""

    def __init__(self, folder: Path, root: Path = ROOT):
        self.path = root / ".cache" / f"standards-{sys.implementation.cache_tag}.marshal" if folder == root / "standards" else None
        self.found, self.used = {}, {}
        with contextlib.suppress(OSError, ValueError, EOFError, TypeError):
            self.found = dict(marshal.loads(self.path.read_bytes())) if self.path else {}

    def read(self, content: bytes, name: str):
        """The data of a YAML document, as documents.read() gives it."""
        key = hashlib.sha256(content).digest()
        if key not in self.used:
            self.used[key] = self.found[key] if key in self.found else documents.read(content, name)
        return self.used[key]

    def keep(self) -> None:
        """Where it cannot be written, it is read again next time."""
        if self.path is None or self.used.keys() <= self.found.keys():
            return
        with contextlib.suppress(OSError, ValueError):
            self.path.parent.mkdir(exist_ok=True)
            part = self.path.with_suffix(f".{os.getpid()}")
            part.write_bytes(marshal.dumps(self.used))
            part.replace(self.path)
