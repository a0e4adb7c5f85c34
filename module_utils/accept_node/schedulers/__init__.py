"""Schedulers behind one interface, for the audit now and for whoever watches a node later.

A module of a scheduler has
  detect(gather)      {"present": true | false | null, "version", "reason"}: is it there, can it be asked; null: not known, and why
  nodes(gather)       all nodes, normalised (`node` below), or None where they could not be had
  one(gather, name)   one node, or None
  survey(gather)      what it says of itself: configuration, agents, accounting; its own shape
  capabilities(survey)  {"drain", "reason", "reboot", "history", "health_program"}: what a drill may use; null is not known
It asks through Gather only, and names nobody's jobs.
"""

from __future__ import annotations

# What stands against placing a job on a node, in our words.
DOWN, DRAINED, DRAINING, SILENT, MAINTENANCE, REBOOTING = "down", "drained", "draining", "not responding", "in maintenance", "rebooting"
KEYS = (
    "hostname state schedulable against reason set_by set_at gpus gpus_usable gpus_used gpu_types cpus memory_mib partitions version "
    "boot_id boot_time reservation in_pod"
).split()


def node(name, **known) -> dict:
    """A node in the one shape that all schedulers share. None: not told.

    `schedulable`: would it take a GPU job now, or when it is free. `against`: why not. `gpus` as configured, `gpus_usable` as the scheduler
    counts them. `in_pod`: its daemon runs in a pod. `set_by`, `set_at`: who took it out and when, in the scheduler's own words. `state`: as
    printed.
    """
    lost = set(known) - set(KEYS)
    if lost:
        raise ValueError("no such key of a node: " + ", ".join(sorted(lost)))
    return {"name": name, **{key: known.get(key) for key in KEYS}}
