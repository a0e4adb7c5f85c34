"""Which GID of a RoCE port NCCL would use, by its version and its settings. A prediction: the library's log and the traffic decide.

Since 2.21 the library walks the table itself; before, index 0 was taken unless NCCL_IB_GID_INDEX said otherwise. A fixed index switches
every check of the library off. (NCCL, src/transport/net_ib; the variables are in its environment documentation since 2.21.)
"""

from __future__ import annotations

import ipaddress
import re
from typing import NamedTuple

from accept_node.parsers import sysfs_gids

SELECTS_SINCE = (2, 21)
FAMILIES = {"AF_INET": 4, "AF_INET6": 6}
NOT_VALID = ("zero", "link_local")  # to the library: empty, or fe80::/64
ROUTABLE = ("ipv4", "global")
SETTINGS = ("NCCL_IB_GID_INDEX", "NCCL_IB_ROCE_VERSION_NUM", "NCCL_IB_ADDR_FAMILY", "NCCL_IB_ADDR_RANGE", "NCCL_IB_HCA", "NCCL_IB_TC")


class Setting(NamedTuple):
    value: str
    origin: str  # the file that it stands in


class Choice(NamedTuple):
    """`index` is None where it cannot be told; `reason` says why it was chosen, or why that is not known."""

    index: int | None
    reason: str


def in_force(files) -> dict[str, Setting]:
    """Name -> Setting of what stands in the files, which come in order of precedence: the first writer wins."""
    found: dict[str, Setting] = {}
    for entry in files:
        for name, value in entry["values"].items():
            if name in SETTINGS:
                found.setdefault(name, Setting(value, entry["from"]))
    return found


def release(version: str | None) -> tuple[int, int] | None:
    """(2, 27) of `2.27.3-1+cuda12.9`."""
    match = re.match(r"(\d{1,3})\.(\d{1,3})", version or "")
    return (int(match[1]), int(match[2])) if match else None


def uses(device: str, setting: Setting | None) -> bool:
    """Does NCCL_IB_HCA let the library use this device? Prefixes; ^ leaves out, = asks for the exact name. Ports (:1) are not looked at."""
    if setting is None or not setting.value:
        return True
    text = setting.value
    exclude, text = text.startswith("^"), text.removeprefix("^")
    exact, text = text.startswith("="), text.removeprefix("=")
    names = [name.split(":")[0] for name in text.split(",") if name]
    return any(device == name if exact else device.startswith(name) for name in names) != exclude


def choose(gids: list, settings: dict[str, Setting], version: str | None) -> Choice:
    """The index in a sparse table that the library would use; rows as gid_check keeps them, or in full (sysfs_gids)."""
    gids = sysfs_gids.full(gids)
    pinned = number(settings.get("NCCL_IB_GID_INDEX"))
    if pinned is not None and pinned >= 0:
        return Choice(pinned, f"NCCL_IB_GID_INDEX={pinned} in {settings['NCCL_IB_GID_INDEX'].origin}")
    known = release(version)
    if known is None:
        return Choice(None, "the version of the library is not known, and before 2.21 it takes index 0 whatever stands there")
    if known < SELECTS_SINCE:
        return Choice(0, f"version {version} of the library does not select and takes index 0")
    family = FAMILIES.get(_value(settings, "NCCL_IB_ADDR_FAMILY", "AF_INET"), 4)
    wanted_type = f"v{_value(settings, 'NCCL_IB_ROCE_VERSION_NUM', '2')}"
    try:
        prefix = _prefix(_value(settings, "NCCL_IB_ADDR_RANGE", ""))
    except ValueError:
        return Choice(None, f"NCCL_IB_ADDR_RANGE={settings['NCCL_IB_ADDR_RANGE'].value} is no prefix")
    index = _walk(gids, family, wanted_type, prefix)
    given = " ".join(f"{name}={settings[name].value}" for name in SETTINGS[1:4] if name in settings)
    return Choice(index, f"version {version} of the library selects by itself{', with ' + given if given else ''}")


def _walk(gids, family, wanted_type, prefix) -> int:
    """From index 0 on, a slot takes over that has the right family where the one held has not, or the right version where it has not."""
    table = {gid["index"]: gid for gid in gids}
    held = table.get(0)
    for gid in gids:
        if gid["index"] == 0 or _family(gid) != family or not _in_range(gid, prefix):
            continue
        better_family = _family(held) != family
        better_type = gid["kind"] not in NOT_VALID and gid["type"] == wanted_type and (_invalid(held) or held["type"] != wanted_type)
        if better_family or better_type:
            held = gid
    return held["index"] if held else 0


def _invalid(gid) -> bool:
    return gid is None or gid["kind"] in NOT_VALID


def _family(gid) -> int:
    """An empty slot counts as IPv6, as its zeros are no mapped IPv4 address."""
    return 4 if gid and gid["gid"].startswith("0000:0000:0000:0000:0000:ffff:") else 6


def _prefix(text: str):
    return ipaddress.ip_network(text, strict=False) if text else None


def _in_range(gid, prefix) -> bool:
    if prefix is None:
        return True
    address = address_of(gid)
    return address.version == prefix.version and address in prefix


def _value(settings, name, default) -> str:
    return settings[name].value.strip() if name in settings else default


def number(setting: Setting | None) -> int | None:
    """The whole number that a setting holds."""
    return int(setting.value) if setting and re.fullmatch(r"-?[0-9]{1,5}", setting.value.strip()) else None


def address_of(gid: dict):
    """As people write it: 10.100.0.4, fd02::4."""
    address = ipaddress.IPv6Address(gid["gid"])
    return address.ipv4_mapped or address


def finding(gid: dict | None, index: int) -> str:
    """What is wrong with a GID for RoCE v2 across subnets; "none" where nothing is."""
    if gid is None:
        return f"index {index} is empty"
    said = f"index {index} is {address_of(gid)}"
    if gid["kind"] not in ROUTABLE:
        return f"{said}: {gid['kind'].replace('_', '-')}, {gid['type'] or 'type not known'}"
    if gid["type"] != "v2":
        return f"{said}: RoCE {gid['type']}" if gid["type"] else f"{said}: its type cannot be read"
    return f"{said} on {gid['netdev']}, which is down" if gid.get("netdev_state") not in ("up", "unknown", None) else "none"
