"""What the shipped settings of the collective library amount to: what is in force, what contradicts, what harms, and what is missing."""

from __future__ import annotations

import re

from .. import fabric_libraries, nccl_env, nccl_gid, recipe


def analyse(data: dict, run) -> dict:
    """recipe_in_force: {name: "value (file)"} for a job on the host that loads no module; recipe_text: the same in one line
    recipe_conflicts: [{name, finding}]; recipe_harmful: [{name, kind, finding}]
    recipe_hcas: [{name, finding}] of each rail: does NCCL_IB_HCA let the library use it?; and of what it names beyond the rails
    recipe_plugins: [{name, finding}] of plugins that are asked for; recipe_topology: {name, finding} or null
    recipe_conf_file: "none", or what is wrong with the file that NCCL_CONF_FILE names
    recipe_containers: "none" where nothing is lost on the way into a container, or what is; null where no containers are declared
    recipe_gap: [{name, finding}] of the golden recipe's settings that are not in force
    fabric_libraries: fabric_libraries.py
    """
    chosen = nccl_env.in_force(data)
    unread = ", ".join(data.get("unread") or ())
    inventory, gids = _data(run, "inventory_audit"), _data(run, "gid_check")
    wanted = run.wanted.key("fabric.libraries").value or []
    facts = fabric_libraries.Facts(data, inventory, _data(run, "version_audit"))
    made = recipe.of_node(run)
    return {
        "recipe_in_force": {name: f"{setting.value} ({setting.origin})" for name, setting in sorted(chosen.items())},
        "recipe_text": None if unread else nccl_env.text(chosen),
        "recipe_text_reason": f"{unread} could not be read" if unread else "",
        "recipe_conflicts": None if unread else nccl_env.conflicts(data, chosen),
        "recipe_harmful": None
        if unread
        else nccl_env.harmful(chosen, run.standards.catalogs["nccl_settings"]["settings"], run.context.get("form")),
        "recipe_hcas": _hcas(chosen.get("NCCL_IB_HCA"), inventory, gids),
        "recipe_plugins": _plugins(data, chosen),
        "recipe_topology": _topology(data, inventory),
        "recipe_conf_file": _conf_file(data),
        **_containers(data, chosen),
        "recipe_gap": made and _gap(made, chosen),
        "recipe_gap_reason": "" if made else "there is no golden recipe for this transport, form and vendor (standards/recipes/nccl)",
        "fabric_libraries": fabric_libraries.judge(
            run.standards.catalogs["fabric_libraries"]["libraries"], facts, run.context.get("vendor"), wanted
        ),
    }


def _data(run, concern) -> dict | None:
    host = run.envelope.get("host")
    return run.fact(host, concern).data if host else None


def _hcas(setting, inventory, gids) -> list | None:
    """Each rail against the list of adapters. Without a list the library takes all that it finds."""
    if setting is None or not setting.value:
        return []
    ports = [port for port in (gids or {}).get("ports") or () if port.get("rail")]
    rails = [port["device"] for port in ports] or [nic["name"] for nic in (inventory or {}).get("nics") or () if nic.get("fabric")]
    if not rails:
        return None
    origin = nccl_gid.Setting(setting.value, setting.origin)
    items = [
        {"name": rail, "finding": "none" if nccl_gid.uses(rail, origin) else f"left out by NCCL_IB_HCA={setting.value} in {setting.origin}"}
        for rail in rails
    ]
    known = {nic["name"] for nic in (inventory or {}).get("nics") or ()} or set(rails)
    named = [] if setting.value.startswith("^") else re.split(",", setting.value.lstrip("="))
    missing = [name.split(":")[0] for name in named if name and not any(device.startswith(name.split(":")[0]) for device in known)]
    return items + [{"name": name, "finding": f"{setting.origin} names it, and there is no such device"} for name in missing]


def _plugins(data, chosen) -> list | None:
    """Plugins by name (libnccl-net-NAME.so), by file, or by path."""
    shipped = data.get("plugins")
    items = []
    for key, kind in (("NCCL_NET_PLUGIN", "net"), ("NCCL_TUNER_PLUGIN", "tuner")):
        setting = chosen.get(key)
        if setting is None or setting.value in ("", "none"):
            continue
        if shipped is None:
            return None
        name = setting.value.rsplit("/", 1)[-1]
        files = {name, f"lib{name}", f"libnccl-{kind}-{name}.so", f"libnccl-{kind}-{name}", f"librccl-{kind}-{name}.so"}
        there = any(plugin["path"].rsplit("/", 1)[-1] in files or plugin["path"] == setting.value for plugin in shipped)
        finding = "none" if there else f"{setting.value} is asked for in {setting.origin}, and no such file is in the usual folders"
        items.append({"name": key, "finding": finding})
    return items


def _topology(data, inventory) -> list | None:
    topology = data.get("topology")
    if not isinstance(topology, dict):
        return None if topology is None else []
    entry = {"name": topology["path"], "finding": None}
    if topology["there"] is False:
        return [{**entry, "finding": f"{topology['from']} names it, and there is no such file"}]
    gpus = (inventory or {}).get("pci_gpu_count")
    if topology["gpus"] is None or gpus is None:
        return [{**entry, "finding_reason": "the file was not read, or the GPUs were not counted"}]
    return [{**entry, "finding": "none" if topology["gpus"] in (0, gpus) else f"it describes {topology['gpus']} GPUs, the node has {gpus}"}]


def _conf_file(data) -> str | None:
    named = data.get("conf_file")
    if not isinstance(named, dict):
        return named
    return {True: "none", False: f"NCCL_CONF_FILE names {named['path']}, and there is no such file"}.get(named["there"])


def _containers(data, chosen) -> dict:
    """Files of the host are not there in a container unless they are mounted: then their settings are lost without a word."""
    if data.get("containers") != "enroot":
        reason = "no enroot on the node" if data.get("containers") == "none" else "it is not known whether containers are used"
        return {"recipe_containers": None, "recipe_containers_reason": reason}
    inside = nccl_env.in_force(data, inside=True)
    lost = sorted(name for name, setting in chosen.items() if name.startswith(nccl_env.LIBRARY) and name not in inside)
    if not lost:
        return {"recipe_containers": "none"}
    origins = ", ".join(sorted({chosen[name].origin for name in lost}))
    return {"recipe_containers": f"{', '.join(lost)}: {origins} is not mounted into containers (enroot mounts.d)"}


def _gap(made, chosen) -> list:
    items = []
    for line in made["lines"]:
        has = chosen.get(line["name"])
        if has is None or has.value != line["value"]:
            said = f"it is {has.value} in {has.origin}" if has else "it is not set"
            items.append({"name": f"{line['name']}={line['value']}", "finding": f"{said}. {line['why']}"})
    return items
