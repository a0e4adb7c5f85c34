r"""rpm -qa --qf '%{NAME}\t%|EPOCH?{%{EPOCH}}:{0}|:%{VERSION}-%{RELEASE}\t%{ARCH}\t%{SOURCERPM}\n': every package, in one call.

Shape: {"packages": {"runc": {"version": "4:1.2.5-1.el9_6", "upstream": "1.2.5", "origin": "runc", "arch": "x86_64",
"all": ["4:1.2.5-1.el9_6"]}}}
`version` is the last one listed; `all` holds every installed version, since kernels are installed side by side. Epoch 0 is not written.
"""

from __future__ import annotations

import re

from . import ParseError

FORMAT = "%{NAME}\\t%|EPOCH?{%{EPOCH}}:{0}|:%{VERSION}-%{RELEASE}\\t%{ARCH}\\t%{SOURCERPM}\\n"
LABEL = re.compile(r"^([0-9]+):([^\s:]+)-([^\s:-]+)$")


def parse(text: str) -> dict:
    packages = {}
    for line in text.splitlines():
        if not line.strip():
            continue
        fields = line.split("\t")
        label = LABEL.match(fields[1]) if len(fields) == 4 else None
        if not label:
            raise ParseError("not a line of name, epoch:version-release, architecture and source: %r" % line[:80])
        epoch, version, release = label.groups()
        full = ("" if epoch.strip("0") == "" else epoch + ":") + version + "-" + release
        entry = packages.setdefault(fields[0], {"all": []})
        source = fields[3].rsplit("-", 2)[0] if fields[3].count("-") >= 2 else fields[0]
        entry.update(version=full, upstream=version.replace("~", "-", 1).split("^")[0], origin=source, arch=fields[2])
        entry["all"].append(full)
    if not packages:
        raise ParseError("the package database lists nothing")
    return {"packages": packages}
