"""`find ... -name 'libnccl.so.2.*'`: the versions of NCCL by the names of its files, {"versions": ["2.27.3"]}. Nothing found is []."""

from __future__ import annotations

import re

from . import ParseError

FILE = re.compile(r"/.*/libnccl\.so\.(2\.[0-9]{1,3}\.[0-9]{1,3})")


def parse(text: str) -> dict:
    """See the module's docstring."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    matches = [FILE.fullmatch(line) for line in lines]
    if lines and not any(matches) and not all(line.startswith("/") for line in lines):
        raise ParseError("find: no paths in: %s" % " ".join(text.split())[:80])
    return {"versions": sorted({match[1] for match in matches if match})}
