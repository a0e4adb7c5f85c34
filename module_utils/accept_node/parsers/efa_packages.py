"""/opt/amazon/efa_installed_packages, as the EFA installer writes it.

Shape: {"version": "1.43.2" (of the installer), "packages": {"libfabric1-aws": "2.1.0amzn3.0"}}
"""

from __future__ import annotations

import re

from . import ParseError

PACKAGE = re.compile(
    r"\b([a-z][a-z0-9.+-]*)_([0-9][^_\s]*)_[a-z0-9]+|\b([a-z][a-z0-9.+-]*?)-([0-9][^\s-]*-[^\s-]+)\.(?:x86_64|aarch64|noarch)\b"
)


def parse(text: str) -> dict:
    found = re.search(r"^#\s*EFA installer version:\s*([0-9][0-9.]*)", text, re.M)
    if not found:
        raise ParseError("no line with the EFA installer's version")
    packages = {}
    for line in text.splitlines():
        if not line.startswith("#"):
            packages.update({deb or rpm: deb_version or rpm_version for deb, deb_version, rpm, rpm_version in PACKAGE.findall(line)})
    return {"version": found.group(1).rstrip("."), "packages": packages}
