"""One component's version from its tool's answer and the package database; what neither knows stays null, with the reason."""

from __future__ import annotations

import re

from .parsers import dpkg, rpm

MANAGERS = {"dpkg": (("dpkg-query", "-W", "-f", dpkg.FORMAT), dpkg.parse), "rpm": (("rpm", "-qa", "--qf", rpm.FORMAT), rpm.parse)}
RPM_FAMILIES = {"rhel", "fedora", "centos", "rocky", "almalinux", "ol", "amzn", "azurelinux", "suse", "sles", "opensuse-leap"}
TIMEOUT_S = 15


class Packages:
    """The package database of the node: one question for all packages. `manager` is dpkg, rpm, "none" (measured) or None (not known)."""

    def __init__(self, gather, os):
        families = {(os or {}).get("id"), *(os or {}).get("id_like", ())}
        order = ("rpm", "dpkg") if families & RPM_FAMILIES else ("dpkg", "rpm")
        self.manager, self.known, self.broken = None, None, None
        for manager in order:
            argv, parse = MANAGERS[manager]
            answer = gather.command(argv, parse, timeout_s=60, optional=True)
            if answer:
                self.manager, self.known, self.broken = manager, answer["packages"], answer.get("broken", [])
                return
            if not gather.missing(" ".join(argv)):
                return  # it is there and does not tell: what the other would say proves nothing
        self.manager = "none"

    def find(self, patterns):
        """The first package that a pattern names, the newest of several releases: (name, its entry), or (None, {})."""
        listed = "\n".join(self.known or ())  # one search through all names: a node has thousands of packages and we ask for dozens
        for pattern in patterns:
            names = [found.group() for found in re.finditer("^(?:" + pattern + ")$", listed, re.MULTILINE)]
            if names:
                name = max(names, key=lambda each: [int(digits) for digits in re.findall("[0-9]+", each)])
                return name, self.known[name]
        return None, {}


def entry(version, source, reason="", package=None, package_version=None, origin=None, **more) -> dict:
    """The shape of a component. `reason` says why there is no version, or what else is to be known of it."""
    return {
        "version": version,
        "source": source,
        "package": package,
        "package_version": package_version,
        "origin": origin,
        "reason": reason,
        **more,
    }


def ask(gather, argv, parse, **options):
    """(parsed or None, why not): the reason is "missing" where there is no such tool."""
    before = len(gather.errors)
    answer = gather.command(argv, parse, timeout_s=TIMEOUT_S, optional=True, **options)
    return answer, "" if answer else "missing" if len(gather.errors) == before else gather.errors[-1]["message"]


def settle(packages, version, source, why, patterns, whole=False, **more) -> dict:
    """The tool's version; else the package's; else "none" where the database knows no such package and the tool is missing; else null."""
    package, found = packages.find(patterns)
    known = {
        "package": package or (None if packages.known is None else "none"),
        "package_version": found.get("version"),
        "origin": found.get("origin"),
    }
    failed = why if why not in ("", "missing") else ""
    if version:
        return entry(version, source, **known, **more)
    if package:
        number = found["version"].split(":")[-1] if whole else found["upstream"]
        return entry(number, "package", failed and failed + "; judged by its package", **known, **more)
    if failed:
        return entry(None, source, failed, **known, **more)
    if packages.known is None:
        return entry(None, source, "no such tool in the search path, and no package database that could be read", **known, **more)
    return entry("none", source, **known, **more)
