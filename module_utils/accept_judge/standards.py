"""What is wanted: everything below standards/, read and checked before it is believed."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from pathlib import Path

from . import documents, grammar
from .compiled import Compiled

KINDS = ("checks", "profiles", "tiers", "baselines", "catalogs", "definitions")


@dataclass
class Standards:
    """The standards by kind. `profiles`, `tiers`, `definitions` go by their id, `baselines` and `catalogs` by the name of their file."""

    folder: Path
    sha256: str  # see digest()
    checks: list = field(default_factory=list)
    profiles: dict = field(default_factory=dict)
    tiers: dict = field(default_factory=dict)
    baselines: dict = field(default_factory=dict)
    catalogs: dict = field(default_factory=dict)
    definitions: dict = field(default_factory=dict)
    digests: dict = field(default_factory=dict)  # "baselines/versions" -> sha256 of that file

    def needs_profile(self, key: str) -> bool:
        """Does some profile say this? Then a SKU without a profile has no answer to it."""
        return any(key in profile["values"] for profile in self.profiles.values())

    def known(self, key: str) -> bool:
        layers = (*self.profiles.values(), *self.tiers.values(), *self.baselines.values())
        return any(key in layer.get("values", ()) for layer in layers)


def digest(folder: Path) -> str:
    """sha256 over names and contents of all standards. The schemas are left out: they say how a wish is written, not what it is."""
    return _digest(_files(folder))


_kept: dict[tuple, Standards] = {}


def keep(folder: Path) -> None:
    """Load the standards for every process that is forked from this one, as Ansible's workers are. Raises as load() does."""
    _kept.clear()
    standards = load(folder)
    _kept[_identity(standards.folder, _files(standards.folder))] = standards


def load(folder: Path) -> Standards:
    """The standards, or DocumentError with all that is wrong with them."""
    folder = Path(folder).resolve()
    files = _files(folder)
    if _kept and (kept := _kept.get(_identity(folder, files))):
        return kept
    if not any(name.startswith("checks/") for name in files):
        raise documents.DocumentError([f"{folder}: checks: no standards here"])
    standards, errors, reader = Standards(folder, _digest(files)), [], Compiled(folder)
    for name, content in files.items():
        kind, _, file_name = name.partition("/")
        if kind in KINDS and "/" not in file_name and name.endswith((".yml", ".yaml")):
            errors += _take(standards, kind, name, content, reader)
    if not errors:
        errors = grammar.faults(standards)
    if errors:
        raise documents.DocumentError(errors)
    reader.keep()
    return standards


def _files(folder: Path) -> dict[str, bytes]:
    paths = sorted(path for path in folder.rglob("*") if path.suffix in (".yml", ".yaml", ".json") and path.is_file())
    try:
        return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}
    except OSError as error:
        raise documents.DocumentError([f"{error.filename}: file: cannot be read: {error.strerror}"]) from error


def _identity(folder: Path, files: dict[str, bytes]) -> tuple:
    """The very same files, the schemas too."""
    return folder, tuple((name, hash(content)) for name, content in files.items())


def _digest(files: dict[str, bytes]) -> str:
    total = hashlib.sha256()
    for name, content in files.items():
        if name.startswith("schema/"):
            continue
        total.update(f"{name}\0{len(content)}\0".encode() + content)
    return total.hexdigest()


def _take(standards: Standards, kind: str, name: str, content: bytes, reader: Compiled) -> list[str]:
    """Put one file into the standards; what is wrong with it."""
    try:
        data = reader.read(content, name)
    except documents.DocumentError as error:
        return error.errors
    stem, kind_of_one = Path(name).stem, kind.removesuffix("s")
    errors = documents.validate(data, standards.folder / "schema" / f"{kind_of_one}.json", name)
    own = standards.folder / "schema" / f"{kind_of_one}_{stem}.json"  # tables for an analysis step have a shape of their own
    if not errors and own.exists():
        errors = documents.validate(data, own, name)
    if errors:
        return errors
    standards.digests[f"{kind}/{stem}"] = hashlib.sha256(content).hexdigest()
    if kind == "checks":
        taken = {check["id"] for check in standards.checks}
        for check in data:
            if check["id"] in taken:
                errors.append(f"{name}: {check['id']}: this id stands twice")
            if stem != check["concern"] and not stem.startswith(check["concern"] + "_"):
                errors.append(f"{name}: {check['id']}.concern: a check of {check['concern']} belongs into checks/{check['concern']}.yml")
            taken.add(check["id"])
            standards.checks.append({"scope": "node", **check})
        return errors
    if data.get("id", stem) != stem:
        return [f"{name}: id: {data['id']} does not fit the file's name"]
    getattr(standards, kind)[stem] = data
    return errors
