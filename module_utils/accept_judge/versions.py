"""A version against its published floor: each rule of the table of minimum versions (standards/baselines/versions.yml).

What is judged is a text: a version, and where that decides the rule, what it is a version of: `1.3.3-0ubuntu1 [runc, ubuntu 24.04]`, its
package (of firmware: the product) and the system it is built for. Only a compared version passes: where the table lists no floor for it,
the outcome is None and says so.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from . import version_order
from .version_order import VersionError

JUDGED = re.compile(r"(\S+)(?: \[([^,\]]*)(?:, ([^\]]+))?\])?")
DISTRIBUTION = re.compile(r"ubuntu|[+~-]deb[0-9]|\.(?:el|fc|amzn|azl)[0-9]|-150[0-9]00\.|-1[56]0000\.")
ORDERS = {"debian": version_order.debian, "rpm": version_order.rpm, "upstream": version_order.upstream}


class Outcome(NamedTuple):
    ok: bool | None
    reason: str = ""


class Judged(NamedTuple):
    version: str
    package: str | None
    system: str | None


def judged(text: str) -> Judged:
    found = JUDGED.fullmatch(text)
    if not found:
        raise VersionError(f"{text[:80]!r} is not a version")
    return Judged(found[1], found[2] or None, found[3])


def at_least(actual: str, wanted: str) -> Outcome:
    """Upstream order. A number of another product in the same field (an amdgpu version where a GPU driver's is wanted) is not compared."""
    try:
        order = version_order.upstream(judged(actual).version, wanted)
    except VersionError as error:
        return Outcome(None, str(error))
    if len(re.match("[0-9]*", wanted)[0]) == 3 and len(re.match("[vV]?([0-9]*)", actual)[1]) != 3:
        return Outcome(None, f"{actual} is a version of something else: {wanted} is wanted")
    return Outcome(order >= 0)


def floor(actual: Any, row: Any) -> Outcome:
    """`row` is a component of the table; standards/schema/baseline_versions.json has its shape."""
    if not isinstance(row, dict) or row.get("rule") not in RULES:
        return Outcome(None, "the table of minimum versions holds no rule for it")
    if not isinstance(actual, str) or actual in ("", "none"):
        return Outcome(None, f"{row['title']}: no version to compare")
    try:
        return RULES[row["rule"]](judged(actual), row)
    except VersionError as error:
        return Outcome(None, f"{row['title']}: {error}")


judge_floor = floor


def wanted_text(row: dict, actual: Any = None) -> str:
    """What is wanted, for people: the floor that applies to this version where that can be told, else every floor of the row."""
    entries = row.get("floors") or {}
    listed = list(entries.values()) if isinstance(entries, dict) else entries
    if not listed:
        return "no published floor"
    try:
        key = KEYS[row["rule"]](judged(actual), row) if isinstance(actual, str) and row["rule"] in KEYS else None
    except VersionError:
        key = None
    if isinstance(entries, dict) and key in entries:
        unfixed = (row.get("unfixed") or {}).get(key)
        return f"{cite(entries[key])} or newer" + (f"; {unfixed['advisory']} has no fix for this branch" if unfixed else "")
    if len(listed) == 1:
        return f"{cite(listed[0])} or newer"
    if isinstance(entries, list):
        return "; ".join(f"{entry['package']} of {entry['os']}: {entry['version']} or newer ({entry['advisory']})" for entry in entries)
    return "; ".join(f"{name}: {entry['version']} or newer" for name, entry in entries.items())


def cite(entry: dict) -> str:
    """`580.159.03 (NVIDIA bulletin 5821; CVE-2026-24187..CVE-2026-24201; fix out since 2026-04-28)`"""
    cves = entry.get("cves") or []
    parts = [entry.get("advisory"), ", ".join(cves[:4]) + (f" and {len(cves) - 4} more" if len(cves) > 4 else "")]
    parts.append(f"fix out since {entry['fixed_on']}" if entry.get("fixed_on") else "")
    known = "; ".join(part for part in parts if part)
    return entry["version"] + (f" ({known})" if known else "")


def _against(item: Judged, row: dict, entry: dict, order=version_order.upstream, compared: str | None = None) -> Outcome:
    """One version (or the part of it that counts) against one floor.

    Distributions mend old numbers: below the floor, theirs can only be judged by their own notice.
    """
    if order(compared or item.version, entry["version"]) >= 0:
        return Outcome(True, f"at or above {cite(entry)}")
    if _distribution(item, row):
        return Outcome(None, _backported(item, row, entry["version"]))
    return Outcome(False, f"{row['title']} {item.version} is below {cite(entry)}")


def _distribution(item, row) -> bool:
    packages = row.get("distro_packages") or []
    return bool(packages) and (item.package in packages or DISTRIBUTION.search(item.version) is not None)


def _backported(item, row, wanted) -> str:
    where = f" of {item.system}" if item.system else ""
    return (
        f"{row['title']} {item.version} is a package{where}, whose fixes come without a new upstream number ({wanted}): "
        "the distribution's own notice decides, and this table has none for it"
    )


def _unlisted(item, row, key, what) -> Outcome:
    """A branch without a floor: newer than all that are listed, or an old one that got no fix."""
    known = sorted(row["floors"], key=version_order.upstream_key)
    newer = version_order.upstream(key, known[-1]) > 0
    why = (
        "it is newer than all of them: the table must be renewed"
        if newer
        else "an old one may have had no fix: ask for the provider's evidence"
    )
    return Outcome(None, f"{row['title']} {item.version}: no floor is published for {what} {key} (listed: {', '.join(known)}); {why}")


def _minimum(item, row) -> Outcome:
    return _against(item, row, row["floors"]["any"])


def _branch_of(item, row) -> str:
    if not re.fullmatch(row["pattern"], item.version):
        raise VersionError(f"{item.version} is not a version of it")
    return ".".join(re.findall("[0-9]+", item.version)[: row.get("branch_numbers", 1)])


def _branch(item, row) -> Outcome:
    branch = _branch_of(item, row)
    entry, unfixed = row["floors"].get(branch), (row.get("unfixed") or {}).get(branch)
    if entry is None:
        return _unlisted(item, row, branch, "branch")
    outcome = _against(item, row, entry)
    if outcome.ok and unfixed:
        return Outcome(
            False,
            f"{row['title']} {item.version} has the fixes of {entry.get('advisory')}; {unfixed['advisory']} has none for branch {branch}: "
            f"it still carries {', '.join(unfixed['cves'])}; another branch is needed",
        )
    if outcome.ok and row.get("advisory") and entry.get("advisory") != row["advisory"]:
        return Outcome(
            None, f"{outcome.reason}; {row['advisory']} is newer and lists no fix for branch {branch}: not said whether it is affected"
        )
    return outcome


def _train_of(item, row) -> str:
    found = re.fullmatch(row["pattern"], item.version)
    if not found:
        raise VersionError(f"{item.version} is not a version of it")
    return found[1]


def _train(item, row) -> Outcome:
    """FF.TT.BBBB: the build counts, inside its train."""
    train = _train_of(item, row)
    entry = row["floors"].get(train)
    if entry is None:
        return _unlisted(item, row, train, "train")
    return _against(item, row, entry, compared=item.version.split(".", 1)[1])


def _series_of(item, row) -> str:
    numbers = version_order.upstream_key(item.version)[0]
    return ".".join(map(str, (numbers + (0, 0))[:2]))


def _ladder(item, row) -> Outcome:
    """A floor for each series, and ranges of versions that an advisory names: both must hold, since some series got no fix."""
    hit = {}
    for advisory, ranges in row["ranges"].items():
        for part in ranges:
            from_there = part["introduced"] == "0" or version_order.upstream(item.version, part["introduced"]) >= 0
            if from_there and version_order.upstream(item.version, part["fixed"]) < 0:
                hit[advisory] = part["fixed"]
    series = _series_of(item, row)
    entry = row["floors"].get(series)
    if not hit and entry is None:
        return _unlisted(item, row, series, "series")
    outcome = _against(item, row, entry) if entry else Outcome(True)
    if not hit:
        return outcome
    fixed = sorted(set(hit.values()), key=version_order.upstream_key)[-1]
    if _distribution(item, row):
        return Outcome(None, _backported(item, row, fixed))
    return Outcome(False, f"{row['title']} {item.version} is affected by {', '.join(sorted(hit))}; {fixed} or newer is not")


def _line(item, row) -> Outcome:
    """Release lines that number alike: a version is judged where every line that it may be of says the same."""
    floors = row["floors"]
    if (
        row.get("legacy_affected")
        and version_order.upstream_key(item.version)[0][:1] == version_order.upstream_key(row["legacy_affected"])[0][:1]
    ):
        if version_order.upstream(item.version, row["legacy_affected"]) <= 0:
            return Outcome(False, f"{row['title']} {item.version}: numbers up to {row['legacy_affected']} are affected")
        return Outcome(None, f"{row['title']} {item.version}: no floor is published for this numbering")
    if item.package in floors:
        return _against(item, row, floors[item.package])
    series = _series_of(item, row)
    possible = [entry for name, entry in floors.items() if name == "GA" or _series_of(Judged(entry["version"], None, None), row) == series]
    outcomes = [_against(item, row, entry) for entry in possible]
    if len({outcome.ok for outcome in outcomes}) == 1:
        return outcomes[-1]
    if len(possible) > 1 and series != _series_of(Judged(floors["GA"]["version"], None, None), row):
        return next(outcome for outcome, entry in zip(outcomes, possible) if entry is not floors["GA"])
    return Outcome(None, f"{row['title']} {item.version} may be of a line that is fixed or of one that is not: the line must be told")


def _product(item, row) -> Outcome:
    """Firmware whose floor depends on the product or platform it runs on."""
    if item.package not in row["floors"]:
        return Outcome(None, f"{row['title']} {item.version}: no floor is published for {item.package or 'a product that is not told'}")
    spelled = nvos if row.get("nvos") else str
    entry = row["floors"][item.package]
    return _against(item, row, {**entry, "version": spelled(entry["version"])}, compared=spelled(item.version))


def nvos(text: str) -> str:
    """25.0.2.4438 and 25.02.4438 are written for the same NVOS release; the second spelling has it."""
    found = re.fullmatch(r"([0-9]+)\.0\.([0-9]+)\.([0-9]+)", text)
    return f"{found[1]}.{int(found[2]):02d}.{found[3]}" if found else text


def _notices(item, row) -> Outcome:
    """Notices of distributions, each for one package of one release: every one must hold."""
    if not item.package or not item.system:
        return Outcome(None, f"{row['title']} {item.version}: the package or the system it is of is not known")
    held = [entry for entry in row["floors"] if entry["os"] == item.system and entry["package"] == item.package]
    if not held:
        known = ", ".join(sorted({f"{entry['package']} of {entry['os']}" for entry in row["floors"]})) or "none"
        return Outcome(None, f"no floor is published for {item.package} of {item.system} in this table (listed: {known})")
    outcomes = [_against(item, row, entry, ORDERS[entry["order"]]) for entry in held]
    failed = [outcome for outcome in outcomes if not outcome.ok]
    if failed:
        return Outcome(False, "; ".join(outcome.reason for outcome in failed))
    return Outcome(True, f"has the fixes of {', '.join(entry['advisory'] for entry in held)}")


def _none(item, row) -> Outcome:
    return Outcome(
        None, f"{row['title']} {item.version}: no security floor is published for it" + (f"; {row['note']}" if row.get("note") else "")
    )


RULES = {
    "minimum": _minimum,
    "branch": _branch,
    "train": _train,
    "ladder": _ladder,
    "line": _line,
    "product": _product,
    "notices": _notices,
    "none": _none,
}
KEYS = {"branch": _branch_of, "train": _train_of, "ladder": _series_of}
