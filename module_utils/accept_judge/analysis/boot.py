"""What the ring buffer, command line, mounts and modules of a node amount to.

Each list below holds one line for each distinct fault of its sort, with the catalogue's meaning and the right reaction. It is [] only
where the log covers all of this boot: what may have been overwritten was not seen, and the list is null, `<list>_reason` says why.
Records that a program wrote (facility other than "kern") are kept apart in `user_records`: they are drills or probes, no faults.
"""

from __future__ import annotations

from . import boot_alike, boot_xids

# list -> (kind of event, test of it) of all that go there
SORTS = {
    "gpus_fallen_off": [("fallen_off_bus", None)],
    "gpu_init_failures": [("rm_init_failed", None), ("probe_failed", None), ("api_mismatch", None), ("amdgpu_init", None)],
    "peermem_errors": [("peermem", None)],
    "pcie_uncorrected": [("aer", "uncorrect"), ("apei", "pcie, not corrected"), ("pcie_dpc", None), ("pcie_link_down", None)],
    "pcie_corrected": [("aer", "correct")],
    "machine_checks": [("edac", "UE"), ("mce", "uncorrected"), ("apei", "not corrected")],
    "errors_corrected": [("edac", "CE"), ("mce", "corrected"), ("apei", None)],
    "machine_check_events": [("mce", None)],
    "cpu_throttling": [("cpu_thermal", None)],
    "amd_ras_uncorrected": [("amd_hw_error", None), ("amdgpu_ras", "not correctable"), ("amdgpu_reset", None)],
    "amd_ras_corrected": [("amdgpu_ras", None)],
    "amd_page_faults": [("amdgpu_page_fault", None)],
    "amd_throttling": [("amdgpu_throttle", None)],
    "oom_system": [("oom", "system")],
    "oom_cgroup": [("oom", None)],
    "lockups": [("soft_lockup", None), ("hard_lockup", None)],
    "hung_tasks": [("hung_task", None)],
    "rcu_stalls": [("rcu_stall", None)],
    "kernel_bugs": [("kernel_bug", None)],
    "gpu_library_crashes": [("segfault", "gpu library")],
    "file_limits": [("file_max", None)],
    "storage_timeouts": [("lustre", None), ("nfs_timeout", None)],
    "nvme_resets": [("nvme_reset", None)],
    "io_errors": [("io_error", None), ("fs_error", None)],
    "nic_health": [("mlx5_health", None), ("mlx5_tx_timeout", None), ("mlx5_module", None)],
    "nic_power": [("mlx5_power", None)],
    "nic_temperature": [("mlx5_temperature", None)],
    "nic_command_errors": [("mlx5_access_reg", None)],
}
GPU_LIBRARIES = ("libnccl", "librccl", "libcuda", "libnv", "libhsa", "libamd")


def _mce_uncorrected(event):
    """By the word, else by the UC bit of the bank's status; None where neither is told."""
    if event["severity"]:
        return event["severity"] != "Corrected"
    status = event["detail"].get("mci_status")
    return None if status is None else bool(int(status, 16) >> 61 & 1)


def _of_cgroup(event):
    return any(word in event["detail"].get("what", "") for word in ("cgroup", "MEMCG"))


TESTS = {
    "uncorrect": lambda event: (event["severity"] or "").startswith("Uncorrect"),
    "correct": lambda event: (event["severity"] or "").startswith("Correct"),
    "pcie, not corrected": lambda event: "PCIe" in event["detail"].get("section", "") and event["severity"] != "corrected",
    "not corrected": lambda event: event["severity"] != "corrected",
    "UE": lambda event: event["severity"] == "UE",
    "CE": lambda event: event["severity"] == "CE",
    "uncorrected": lambda event: _mce_uncorrected(event) is True,
    "corrected": lambda event: _mce_uncorrected(event) is False,
    "not correctable": lambda event: event["severity"] != "correctable",
    "system": lambda event: not _of_cgroup(event),
    "gpu library": lambda event: event["detail"].get("library", "").startswith(GPU_LIBRARIES),
}
XID_LISTS = ("hardware", "contained", "nvlink_nonfatal", "application", "informational", "unclear")
SXID_LISTS = ("fatal", "nonfatal", "unclear")


def analyse(data: dict, run) -> dict:
    """See the module's docstring; beside the lists `nic_link_downs` (items), `user_records`, `events`, and what nodes are compared by."""
    log = data.get("kernel_log")
    lists, events, user = _sorted(log, run, data.get("nvidia_module"))
    lists["user_records"] = user
    downs = [] if log is None else [_link_down(event) for event in _kernel(log) if event["kind"] == "mlx5_link"]
    facts = {"events": events, "nic_link_downs": downs or (None if _gap(log) else [])}
    for name, lines in lists.items():
        facts[name] = lines or _nothing(name, log, data)
        if facts[name] is None:
            facts[name + "_reason"] = _why(name, log, data)
    facts["log_begins_at_boot"] = log and log["covers_boot"]
    if facts["log_begins_at_boot"] is None:
        facts["log_begins_at_boot_reason"] = _gap(log, data)
    return {**facts, **boot_alike.alike(data)}


# --- events ---------------------------------------------------------------------------------------------------------------------------


def _kernel(log):
    return [event for event in log["events"] if event["facility"] in (None, "kern")]


def _sorted(log, run, driver_version):
    """(list -> lines, events with their meaning, lines of records that programs wrote)."""
    lists = {f"xids_{name}": [] for name in XID_LISTS} | {f"sxids_{name}": [] for name in SXID_LISTS} | {name: [] for name in SORTS}
    events, user = [], []
    if log is None:
        return lists, events, user
    catalogue = boot_xids.catalogue(run.standards.catalogs)
    branch = str(driver_version or "").split(".")[0]
    driver, seen = int(branch) if branch.isdigit() else None, {}
    for event in _kernel(log):
        if event["kind"] == "xid":
            seen.setdefault(event["pci"], set()).add(event["code"])
    for event in log["events"]:
        by_user = event["facility"] not in (None, "kern")
        kind, meaning, reaction = event["kind"], "", ""
        if kind in ("xid", "sxid"):
            where, meaning, reaction = boot_xids.sort(event, seen, catalogue, driver)
            where = f"{kind}s_{where}"
        else:
            where = next((name for name, tests in SORTS.items() if any(_fits(event, test) for test in tests)), None)
        line = _line(event, meaning, reaction)
        if by_user:
            user.append(f"{line} [written by a program, facility {event['facility']}]")
        elif where in lists:
            lists[where].append(line)
        events.append({**_short(event), "list": where, "meaning": meaning, "reaction": reaction, "injected_or_user": by_user})
    return lists, events, user


def _fits(event, test):
    kind, condition = test
    return event["kind"] == kind and (condition is None or TESTS[condition](event))


def _short(event):
    return {key: event[key] for key in ("kind", "code", "pci", "severity", "link", "count", "episodes", "first_s", "last_s")}


def _line(event, meaning, reaction):
    """One fault in one line: what, where, how often, when, what it means."""
    name = {"xid": "Xid {}", "sxid": "SXid {}"}.get(event["kind"], "{1}").format(event["code"], event["kind"].replace("_", " "))
    where = "".join([f" {event['pci']}" if event["pci"] else "", f" link {event['link']}" if event["link"] is not None else ""])
    times = f" ×{event['count']}" if event["count"] > 1 else ""
    when = f" at {event['first_s']:.0f} s" if event["first_s"] is not None else f" on {event['first']}" if event["first"] else ""
    told = f"{meaning}; {reaction}" if meaning else event["text"][:160]
    return f"{name}{where}{times}{when}: {told}"


def _link_down(event):
    return {"port": f"{event['pci']} {event['detail'].get('netdev', '')}".strip(), "count": event["count"], "last_s": event["last_s"]}


# --- what was not seen ------------------------------------------------------------------------------------------------------------------


def _gap(log, data=None):
    """Why nothing in the log is not the same as nothing happened; empty where it is."""
    if log is None:
        return (data or {}).get("kernel_log_reason") or "the kernel's log could not be read"
    if log["covers_boot"] is True:
        return ""
    if log["covers_boot"] is None:
        return "it cannot be told whether the kernel's log goes back to the start of this boot"
    began = f": it begins {log['first_s']:.0f} s after it" if log["first_s"] else ": records were lost"
    return "the kernel's log no longer goes back to the start of this boot" + began


def _off(name, data):
    """Why the kernel could not have told this."""
    sysctl = data.get("sysctl") or {}
    if name == "lockups" and (sysctl.get("watchdog") != 1 or sysctl.get("soft_watchdog") == 0):
        return f"kernel.watchdog is {sysctl.get('watchdog')}, soft_watchdog {sysctl.get('soft_watchdog')}: lockups are not watched for"
    if name == "hung_tasks" and not sysctl.get("hung_task_timeout_secs"):
        return f"kernel.hung_task_timeout_secs is {sysctl.get('hung_task_timeout_secs')}: hung tasks are not watched for"
    return ""


def _dropped(name, log):
    """Events beyond the number that is kept may belong here."""
    kinds = {"xid"} if name.startswith("xids_") else {"sxid"} if name.startswith("sxids_") else {kind for kind, _ in SORTS.get(name, ())}
    return bool(log["events_dropped"]) and any(log["counts"].get(kind) for kind in kinds or log["counts"])


def _nothing(name, log, data):
    return None if _why(name, log, data) else []


def _why(name, log, data):
    if name == "user_records" and log is not None:
        return ""
    gap = _gap(log, data) or _off(name, data)
    return gap or (f"{log['events_dropped']} further events were not kept" if _dropped(name, log) else "")
