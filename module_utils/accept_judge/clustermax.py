"""A published ClusterMAX minimum-versions JSON in place of standards/baselines/versions.yml.

Same shape of rows, so that nothing else need know which table judged. What cannot be taken over is named in `not_taken`, and a component
that the other table does not hold has no floor: tables are never mixed.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from . import documents, version_order

NAMES = {
    "nvidiaDriver": "nvidia_driver",
    "cudaToolkit": "cuda_toolkit",
    "dcgm": "dcgm",
    "dcgmExporter": "dcgm_exporter",
    "docker": "docker",
    "nvidiaContainerToolkit": "nvidia_container_toolkit",
    "runc": "runc",
    "connectxFirmware": "connectx_firmware",
    "virtioNetBluefield": "bluefield_virtio_net",
    "nvhpc": "nvidia_hpc_sdk",
}
RELEASES = {"jammy": "ubuntu 22.04", "noble": "ubuntu 24.04", "resolute": "ubuntu 26.04"}
KINDS = {
    "minimum": "minimum",
    "releaseWindow": "minimum",
    "branchMap": "branch",
    "trainMap": "train",
    "ladder": "ladder",
    "releaseLines": "line",
}


def load(path, built_in: dict) -> tuple[dict, str]:
    """(table in the shape of baselines/versions.yml, sha256 of the file), or DocumentError with all that is wrong with it.

    `built_in` is our own table: titles, patterns and the names of distributions' packages are taken from it, never a floor.
    """
    path, errors = Path(path), []
    try:
        content = path.read_bytes()
        document = json.loads(content)
    except OSError as error:
        raise documents.DocumentError([f"{path}: file: cannot be read: {error.strerror}"]) from error
    except (ValueError, RecursionError) as error:
        raise documents.DocumentError([f"{path}: text: no JSON: {error}"]) from error
    if not isinstance(document, dict) or document.get("schemaVersion") != 1:
        raise documents.DocumentError([f"{path}: schemaVersion: this reader takes 1"])
    moment, age = documents.moment(document.get("generated")), document.get("maxAgeDays")
    if moment is None:
        errors.append(f"{path}: generated: is no time in ISO 8601")
    if not isinstance(age, int) or isinstance(age, bool) or age < 1:
        errors.append(f"{path}: maxAgeDays: a number of days is wanted")
    if not isinstance(document.get("components"), dict) or not document["components"]:
        errors.append(f"{path}: components: there are none")
    if errors:
        raise documents.DocumentError(errors)
    table = _Table(path, built_in)
    for name, component in document["components"].items():
        table.take(name, component)
    if table.errors:
        raise documents.DocumentError(table.errors)
    values = {**table.absent(), **table.rows, "version_table.max_age_days": _value(age, f"maxAgeDays of {path.name}")}
    note = "Not taken over: " + "; ".join(table.not_taken) if table.not_taken else "All of it was taken over."
    return {
        "title": "Minimum safe versions (ClusterMAX)",
        "as_of": moment.date().isoformat(),
        "max_age_days": age,
        "generated_from": [path.name],
        "note": note,
        "not_taken": table.not_taken,
        "values": values,
    }, hashlib.sha256(content).hexdigest()


def _value(value, source) -> dict:
    return {"value": value, "source": source, "confidence": "high"}


class _Table:
    """The rows as they come, and what was wrong with them."""

    def __init__(self, path, built_in):
        self.path, self.built_in = path, built_in.get("values", {})
        self.rows, self.errors, self.not_taken = {}, [], []

    def take(self, name: str, component) -> None:
        kind = component.get("kind") if isinstance(component, dict) else None
        try:
            if kind == "distroPackages":
                self._packages(name, component)
            elif name in NAMES and kind in KINDS:
                self._row(name, component, kind)
            else:
                self.not_taken.append(f"{name} ({kind})")
        except (KeyError, TypeError, AttributeError, version_order.VersionError) as error:
            self.errors.append(f"{self.path}: components.{name}: {type(error).__name__}: {error}")

    def _row(self, name, component, kind) -> None:
        key = f"versions.{NAMES[name]}"
        ours = self.built_in.get(key, {}).get("value", {})
        row = {part: ours[part] for part in ("title", "pattern", "branch_numbers", "distro_packages") if part in ours}
        row.update(rule=KINDS[kind], floors=getattr(self, f"_{kind}")(component))
        row.setdefault("title", name)
        if kind == "branchMap":
            row["advisory"] = _bulletin(component.get("source"))
        if kind == "ladder":
            row["ranges"] = {
                advisory: [{"introduced": str(part["introduced"]), "fixed": _checked(part["fixed"])} for part in parts]
                for advisory, parts in component["advisoryRanges"].items()
            }
        legacy = [line["legacyAffectedThrough"] for line in component.get("lines", {}).values() if line.get("legacyAffectedThrough")]
        if legacy:
            row["legacy_affected"] = _checked(legacy[0])
        self.rows[key] = _value(
            {part: value for part, value in row.items() if value is not None}, component.get("advisory") or self.path.name
        )

    @staticmethod
    def _minimum(component) -> dict:
        return {"any": _entry(component["minimum"], component.get("fixAvailability"), component)}

    _releaseWindow = _minimum

    @staticmethod
    def _branchMap(component) -> dict:
        known = component.get("floorAvailability", {})
        bulletins = component.get("branchSources", {})
        return {
            branch: {**_entry(version, known.get(branch), component), "advisory": f"NVIDIA bulletin {bulletins[branch]}"}
            if branch in bulletins
            else _entry(version, known.get(branch), component)
            for branch, version in component["branches"].items()
        }

    @staticmethod
    def _trainMap(component) -> dict:
        known = component.get("floorAvailability", {})
        return {train: _entry(f"{train}.{build}", known.get(train), component) for train, build in component["trains"].items()}

    @staticmethod
    def _ladder(component) -> dict:
        known, sources = component.get("floorAvailability", {}), component.get("floorSources", {})
        return {
            series: {**_entry(version, known.get(series), component), "advisory": sources.get(series, "")}
            for series, version in component["ladder"].items()
        }

    @staticmethod
    def _releaseLines(component) -> dict:
        known = component.get("floorAvailability", {})
        return {line: _entry(part["fixed"], known.get(line), component) for line, part in component["lines"].items()}

    def _packages(self, name, component) -> None:
        """Notices of one Ubuntu release: kernels, and packages that go by their own name."""
        release = RELEASES.get(component.get("release"))
        if release is None:
            self.not_taken.append(f"{name} (release {component.get('release')})")
            return
        for label, part in component["packages"].items():
            if part.get("status") != "released" or not part.get("fixed"):
                self.not_taken.append(f"{name}.{label} (no fix released)")
                continue
            key = "versions.kernel" if part["package"].startswith("linux") else f"versions.{part['package']}"
            entry = {
                "name": label,
                "os": release,
                "package": part["package"],
                "order": "debian",
                **_entry(part["fixed"], part.get("fixAvailability"), {}),
            }
            entry["cves"] = [cve for cve in (part.get("cve"), *part.get("relatedCves", ())) if cve]
            entry["advisory"] = (part.get("source") or {}).get("id") or name
            version_order.debian(entry["version"], entry["version"])
            title = self.built_in.get(key, {}).get("value", {}).get("title", part["package"])
            row = self.rows.setdefault(
                key, _value({"title": title, "rule": "notices", "floors": []}, component.get("advisory") or self.path.name)
            )
            row["value"]["floors"].append(entry)

    def absent(self) -> dict:
        """Our own components that this table does not hold: no floor, and said so."""
        rows = {}
        for key, entry in self.built_in.items():
            if key.startswith("versions.") and key not in self.rows:
                row = {"title": entry["value"]["title"], "rule": "none", "floors": {}, "note": f"{self.path.name} does not list it"}
                rows[key] = _value(row, self.path.name)
        return rows


def _entry(version, availability, component) -> dict:
    """One floor; `fixed_on` is the day since when the fix can be had."""
    entry = {"version": _checked(version), "advisory": _bulletin(component.get("source")), "cves": list(component.get("cves") or [])}
    since = str((availability or {}).get("available") or "")[:10]
    return {**entry, "fixed_on": since} if documents.date(since) else entry


def _checked(version) -> str:
    """The text itself, if it can be compared at all."""
    text = str(version)
    version_order.upstream_key(text)
    return text


def _bulletin(source) -> str:
    source = source or {}
    return (
        f"NVIDIA bulletin {source['aId']}" if source.get("aId") else str(source.get("title") or source.get("id") or source.get("url") or "")
    )
