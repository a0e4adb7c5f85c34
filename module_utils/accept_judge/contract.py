"""The contract: read, checked against itself and against the standards, asked for overrides and waivers."""

from __future__ import annotations

import datetime
import hashlib
from dataclasses import dataclass
from pathlib import Path

from . import documents, grammar, nodesets


@dataclass(frozen=True)
class Contract:
    """A contract that holds together. `data` is the document; docs and standards/schema/contract.json have its keys."""

    path: str
    sha256: str
    data: dict

    @property
    def tier(self) -> str | None:
        return self.data.get("tier")

    @property
    def definition(self) -> str | None:
        return self.data.get("definition")

    def cluster(self, name: str) -> dict | None:
        return next((cluster for cluster in self.data["clusters"] if cluster["name"] == name), None)

    def overrides_of(self, cluster: str) -> dict:
        """Key -> {value, reason}: the contract's, and over them those of the cluster."""
        return {**self.data.get("overrides", {}), **(self.cluster(cluster) or {}).get("overrides", {})}

    def waivers(self, on: datetime.date) -> tuple[list[dict], list[str]]:
        """The waivers in force on a day, and one line for each that has run out."""
        kept, expired = [], []
        for waiver in self.data.get("waivers", ()):
            if documents.date(waiver["expires"]) >= on:
                kept.append(waiver)
            else:
                expired.append(
                    f"waiver of {waiver['check']} on {waiver['hosts']} ({waiver['owner']}) expired on {waiver['expires']}: not applied"
                )
        return kept, expired


def load(path: Path, standards, on: datetime.date | None = None) -> Contract:
    """The contract, or DocumentError with all that is wrong with it. With `on`, a waiver that has run out by that day is an error too."""
    path = Path(path)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise documents.DocumentError([f"{path.name}: file: cannot be read: {error.strerror}: {path}"]) from error
    data = documents.read(content, path.name)
    errors = documents.validate(data, standards.folder / "schema" / "contract.json", path.name)
    if isinstance(data, dict):
        errors += [f"{path.name}: {key}: {message}" for key, message in _faults(data, standards, on)]
    if errors:
        raise documents.DocumentError(dict.fromkeys(errors))
    return Contract(str(path), hashlib.sha256(content).hexdigest(), data)


def inventory_faults(contract: Contract, hosts: list[dict]) -> list[str]:
    """Where the inventory's hosts ({name, cluster, rack}) contradict the contract."""
    name, found = Path(contract.path).name, []
    for cluster in sorted({host["cluster"] for host in hosts}):
        if contract.cluster(cluster) is None:
            found.append(f"{name}: clusters: the inventory's cluster {cluster!r} is not named here")
    for cluster in contract.data["clusters"]:
        racks = cluster.get("racks")
        here = {host.get("rack") or "" for host in hosts if host["cluster"] == cluster["name"]}
        strange = ", ".join(sorted(map(repr, here - set(racks)))) if racks else ""
        if strange:
            found.append(f"{name}: clusters.{cluster['name']}.racks: the inventory has {strange}, not named here")
    return found


def _faults(data: dict, standards, on):
    """What the schema cannot say. It runs on documents that the schema refused, so it takes nothing for granted."""
    yield from _dates(data)
    clusters = [cluster for cluster in _listed(data, "clusters") if isinstance(cluster.get("name"), str)]
    names = [cluster["name"] for cluster in clusters]
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield f"clusters.{name}", "this name stands twice"
    for cluster in clusters:
        yield from _cluster(cluster, standards)
    yield from _overrides("overrides", data.get("overrides"), standards)
    for cluster in clusters:
        yield from _overrides(f"clusters.{cluster['name']}.overrides", cluster.get("overrides"), standards)
    definition = data.get("definition")
    if isinstance(definition, str) and definition not in standards.definitions:
        yield "definition", f"{definition} is none of {', '.join(sorted(standards.definitions))}"
    ids = {check["id"] for check in standards.checks}
    for number, waiver in enumerate(_listed(data, "waivers")):
        yield from _waiver(f"waivers.{number}", waiver, ids, on)


def _dates(data: dict):
    for key in ("agreed_date", "walk_away_date"):
        if isinstance(data.get(key), str) and documents.date(data[key]) is None:
            yield key, f"{data[key]} is no date of the calendar"
    agreed, last = documents.date(data.get("agreed_date")), documents.date(data.get("walk_away_date"))
    if agreed and last and last < agreed:
        yield "walk_away_date", f"{last} is before the agreed date {agreed}"


def _cluster(cluster: dict, standards):
    where, racks, nodes = f"clusters.{cluster['name']}", cluster.get("racks"), cluster.get("nodes")
    if (
        isinstance(racks, dict)
        and isinstance(nodes, int)
        and all(isinstance(count, int) for count in racks.values())
        and sum(racks.values()) != nodes
    ):
        yield f"{where}.racks", f"they hold {sum(racks.values())} nodes, and nodes says {nodes}"
    sku = cluster.get("sku")
    if isinstance(sku, str) and sku != "auto" and sku not in standards.profiles:
        yield (
            f"{where}.sku",
            f"no profile for SKU {sku}: add standards/profiles/{sku}.yml (there are {', '.join(sorted(standards.profiles)) or 'none'})",
        )


def _overrides(where: str, overrides, standards):
    for key, entry in overrides.items() if isinstance(overrides, dict) else ():
        checks = [check for check in standards.checks if key in grammar.references(check.get("want"))]
        if not checks and not standards.known(str(key)):
            yield f"{where}.{key}", "no check, profile, tier or baseline knows this key"
        value = entry.get("value") if isinstance(entry, dict) else None
        faults = {grammar.want_fault(check["op"], grammar.put(check["want"], value)) for check in checks if value is not None}
        for fault in sorted(faults - {""}):
            yield f"{where}.{key}.value", fault


def _waiver(where: str, waiver: dict, ids: set, on):
    if isinstance(waiver.get("check"), str) and waiver["check"] not in ids:
        yield f"{where}.check", f"there is no check {waiver['check']}"
    if isinstance(waiver.get("owner"), str) and not waiver["owner"].strip():
        yield f"{where}.owner", "a waiver needs one who answers for it"
    if isinstance(waiver.get("hosts"), str) and waiver["hosts"] != "all":
        try:
            nodesets.unfold(waiver["hosts"])
        except ValueError as error:
            yield f"{where}.hosts", str(error)
    if isinstance(waiver.get("expires"), str):
        expires = documents.date(waiver["expires"])
        if expires is None:
            yield f"{where}.expires", f"{waiver['expires']} is no date of the calendar"
        elif on and expires < on:
            yield f"{where}.expires", f"expired on {expires}: renew it or take it out"


def _listed(data: dict, key: str) -> list[dict]:
    value = data.get(key)
    return [part for part in value if isinstance(part, dict)] if isinstance(value, list) else []
