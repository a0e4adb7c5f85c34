"""The sparse summary of a collective library's log; parsers/nccl_debug.py has its shape."""

from __future__ import annotations

MTU_BYTES = {"1": 256, "2": 512, "3": 1024, "4": 2048, "5": 4096}  # enum ibv_mtu
BY_NAME = {"socket": "sockets", "gib": "gib", "aws libfabric": "libfabric", "libfabric": "libfabric", "ofi": "libfabric"}
BY_PROVIDER = {"efa": "efa", "cxi": "slingshot", "verbs": "ib_or_roce"}
SOCKETS = ("tcp", "udp", "sockets")  # providers of libfabric that are sockets after all
KEPT_HOSTS, KEPT_ENV, KEPT = 16, 64, 16


def of(log) -> dict:
    """The summary of a nccl_log.Log."""
    said, hosts = log.said, sorted(log.hosts)
    everyone = {who for who in log.processes.values() if who[1]}
    versions = _counts(said["version"]) or ({log.tests_library: 1} if log.tests_library else {})
    networks = _networks(said)
    kinds = {entry["kind"] for entry in networks}
    channels = _channels(log.paths)
    return {
        "library": log.library or ("nccl" if log.tests_library else None),
        "versions": versions,
        "rocm": log.rocm,
        "ranks": log.ranks.get("size"),
        "nodes": log.ranks.get("nodes"),
        "processes": len(everyone),
        "hosts": len(hosts),
        "network": next(iter(kinds)) if len(kinds) == 1 else "mixed" if kinds else None,
        "networks": networks,
        "hca_sets": [{**entry, "hcas": list(entry["hcas"])} for entry in _shares("hcas", said["hcas"])],
        "hosts_without_devices": _hosts(said["no_device"][True]),
        "net_devices_used": channels.pop("devices"),
        "gids": _gids(said),
        "mtu_bytes": {str(MTU_BYTES.get(mtu, mtu)): len(who) for mtu, who in sorted(said["mtu"].items())},
        "relaxed_ordering": _agreed(said["relaxed"]),
        "gpudirect": _gpudirect(channels, said),
        "gdr_hcas": {"enabled": len(said["gdr_Enabled"]), "disabled": len(said["gdr_Disabled"])},
        "dmabuf": _both(said["dmabuf"]),
        "channels": channels["by_path"],
        "nvls": _both(said["nvls"]),
        "mnnvl": _mnnvl(said),
        "collnet": _collnet(channels, said),
        "provider": max(said["provider"], key=lambda name: len(said["provider"][name]), default=None),
        "nics": max(said["nics"], key=lambda count: len(said["nics"][count]), default=None),
        "plugins": _plugins(said["plugin"]),
        "plugins_missing": _counts(said["missing"]),
        "topology_files": _counts(said["topology"]),
        "config_files": sorted(log.config_files)[:KEPT],
        "env": {name: _counts(values) for name, values in sorted(log.env.items())[:KEPT_ENV]},
        "interfaces": _counts(said["interface"]),
        "warnings": [{**entry, "hosts": sorted(entry["hosts"] - {""})[:KEPT_HOSTS]} for entry in log.warnings.values()],
    }


def _counts(values) -> dict:
    """Value -> processes that said it, the most frequent first."""
    ranked = sorted(values.items(), key=lambda item: (-len(item[1]), str(item[0])))
    return {str(value): len(who) for value, who in ranked[:KEPT]}


def _shares(key, values) -> list:
    """[{key, "ranks", "hosts"}]; hosts are named only where not all say the same."""
    ranked = sorted(values.items(), key=lambda item: (-len(item[1]), str(item[0])))[:KEPT]
    return [
        {key: value, "ranks": len(who), "hosts": _hosts(who) if number or len(ranked) > 1 else []}
        for number, (value, who) in enumerate(ranked)
    ]


def _hosts(who) -> list:
    return sorted({host for host, _ in who if host})[:KEPT_HOSTS]


def _both(values) -> dict:
    return {"available": len(values.get(True, ())), "unavailable": len(values.get(False, ()))}


def _agreed(values):
    return next(iter(values)) if len(values) == 1 else "some" if values else None


def _networks(said) -> list:
    links = {}
    for hcas, who in said["hcas"].items():
        kinds = {hca.rsplit("/", 1)[1] for hca in hcas}
        links.update(dict.fromkeys(who, kinds.pop().lower() if len(kinds) == 1 else "ib_and_roce"))
    providers = {one: name for name, who in said["provider"].items() for one in who}
    found = {}
    for name, who in said["network"].items():
        for one in who:
            found.setdefault((name, _kind(name, links.get(one), providers.get(one))), set()).add(one)
    entries = _shares("name", found)
    return [{"name": entry["name"][0], "kind": entry["name"][1], "ranks": entry["ranks"], "hosts": entry["hosts"]} for entry in entries]


def _kind(name, link, provider) -> str:
    """What carries the traffic of a network that goes by this name."""
    low = BY_NAME.get(name.lower(), name.lower())
    if low == "ib" or low.startswith("ibext"):
        return link or "ib_or_roce"
    if low == "libfabric" and provider:
        return "sockets" if provider.split(";")[0] in SOCKETS else BY_PROVIDER.get(provider, provider)
    return low


def _channels(paths) -> dict:
    """Connections by transport; those of a network apart by whether the NIC reads and writes GPU memory itself."""
    by_path, devices = {}, set()
    for text, count in sorted(paths.items()):
        words = text.partition(" comm ")[0].strip().split("/")
        if words[0] in ("NET", "COLLNET") and len(words) > 1:
            entry = by_path.setdefault(f"{words[0]}/{words[1]}"[:60], {"gdr": 0, "host": 0})
            entry["gdr" if "GDRDMA" in words else "host"] += count
            number = words[2].partition("(")[0] if len(words) > 2 else ""
            if number.isdecimal():
                devices.add(int(number))
        elif words[0]:
            name = "/".join(words[:2])[:60]
            by_path[name] = by_path.get(name, 0) + count
    return {"by_path": dict(sorted(by_path.items())[: 2 * KEPT]), "devices": sorted(devices)[: 4 * KEPT]}


def _gpudirect(channels, said):
    """True, False, "some" or None. Connections decide; else what the library said of its HCAs, or of its plugin."""
    net = [entry for name, entry in channels["by_path"].items() if name.startswith("NET/")]
    if net:
        direct, through = any(entry["gdr"] for entry in net), any(entry["host"] for entry in net)
        return "some" if direct and through else direct
    enabled, disabled = bool(said["gdr_Enabled"]), bool(said["gdr_Disabled"])
    return "some" if enabled and disabled else enabled if enabled or disabled else None


def _gids(said) -> list:
    names = {}
    for hcas, who in said["hcas"].items():
        for one in who:
            names[one] = [hca.rsplit("/", 1)[0] for hca in hcas]
    found = {}
    for (device, port, index, address), who in said["gid"].items():
        for one in who:
            known = names.get(one, ())
            hca = known[int(device)] if int(device) < len(known) else f"device {device}:{port}"
            found.setdefault((hca, int(index), address), set()).add(one)
    hcas = {}
    for hca, index, address in found:
        hcas.setdefault(hca, []).append((index, address))
    return [
        {"hca": hca, "index": index, "address": address, "ranks": len(who), "hosts": _hosts(who) if len(hcas[hca]) > 1 else []}
        for (hca, index, address), who in sorted(found.items())[: 8 * KEPT]
    ]


def _mnnvl(said) -> dict:
    """Multi-node NVLink: in force or not, how many share a clique, and what the GPUs' fabric state was."""
    fabrics = [
        {"uuid": uuid[:40], "clique": clique, "state": int(state), "health_mask": health, "ranks": len(who)}
        for (uuid, clique, state, health), who in sorted(said["fabric"].items(), key=lambda item: -len(item[1]))[:KEPT]
    ]
    active = _agreed(said["mnnvl"])
    return {"active": active, "clique_sizes": _counts(said["clique"]), "fabrics": fabrics}


def _collnet(channels, said):
    """In-network reduction (SHARP): connections use it (True), its plugin is loaded ("loaded"), or neither is said (False)."""
    if any(name.startswith("COLLNET") for name in channels["by_path"]):
        return True
    return "loaded" if any(plugin[0] == "collnet" for plugin in said["plugin"]) else False


def _plugins(values) -> list:
    ranked = sorted(values.items(), key=lambda item: (str(item[0]), -len(item[1])))[:KEPT]
    return [
        {"kind": kind, "name": name[:60], "api": api, "version": version, "ranks": len(who)} for (kind, name, api, version), who in ranked
    ]
