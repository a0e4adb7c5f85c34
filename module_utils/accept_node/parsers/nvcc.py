"""The CUDA toolkit on disk: `nvcc --version`, and /usr/local/cuda/version.json.

Shape of both: {"version": "13.1.80" (the compiler's or toolkit's full version), "release": "13.1"}
nvidia-smi prints the newest CUDA that the driver supports, which is another number.
"""

from __future__ import annotations

import json
import re

from . import ParseError

RELEASE = re.compile(r"release ([0-9]+\.[0-9]+), V([0-9]+(?:\.[0-9]+)+)")
NUMBER = re.compile(r"[0-9]+\.[0-9]+(?:\.[0-9]+)*")


def parse(text: str) -> dict:
    found = RELEASE.search(text)
    if not found:
        raise ParseError("no line with 'release N.N, VN.N.N'")
    return {"version": found.group(2), "release": found.group(1)}


def parse_version_json(text: str) -> dict:
    try:
        version = json.loads(text)["cuda"]["version"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ParseError("no cuda.version in it (%s)" % type(error).__name__) from error
    if not isinstance(version, str) or not NUMBER.fullmatch(version):
        raise ParseError("cuda.version is %.40r" % (version,))
    return {"version": version, "release": ".".join(version.split(".")[:2])}
