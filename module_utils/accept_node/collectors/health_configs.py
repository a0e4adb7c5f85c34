"""How the agents that were found are set up: their configuration files, and the text of scripts that units and cron jobs run."""

from __future__ import annotations

from .. import agents
from ..parsers import health_script, nhc_conf, npd_config, settings

NHC_LOG = "/var/log/nhc.log"
LOG_TAIL, LOG_TIME = ["tail", "-n", "40", NHC_LOG], ["stat", "-c", "%Y", NHC_LOG]
HEAD = ["head", "-c", "65536"]  # a script is short; a program need not come over the wire
MAX_SCRIPTS, MAX_MONITORS = 12, 16
NPD_FLAGS = ("config.system-log-monitor", "system-log-monitors", "config.custom-plugin-monitor", "custom-plugin-monitors")
NVSENTINEL = (
    ("config-file", "settings", settings.parse),
    ("xid-error-mapping-config-file", "xid_csv", settings.parse_xid_csv),
)


def read(gather, found) -> dict:
    """{"configs": [{"agent", "path", "kind", "data": parsed | None, "reason"}], "scripts": [...], "nhc_log": {...} | None}"""
    configs = [*_nhc(gather), *_plain(gather), *_of_processes(gather, found["processes"] or [])]
    has_nhc = any(config["agent"] == "nhc" for config in configs)
    return {"configs": configs, "scripts": _scripts(gather, found), "nhc_log": _nhc_log(gather) if has_nhc else None}


def _entry(gather, agent, path, kind, data):
    """A configuration that was asked for; the reason why it could not be read is the last that was noted."""
    reason = "" if data is not None else next((error["message"] for error in reversed(gather.errors) if error["source"].endswith(path)), "")
    return {"agent": agent, "path": path, "kind": kind, "data": data, "reason": reason or ("" if data is not None else f"{path}: not read")}


def _nhc(gather):
    tree = gather.tree("/etc/nhc", ["*.conf"], optional=True)
    if tree is None and not gather.missing("/etc/nhc"):
        yield _entry(gather, "nhc", "/etc/nhc", "nhc", None)
    for name, text in sorted(tree.files.items()) if tree else ():
        path = "/etc/nhc/" + name
        yield _entry(gather, "nhc", path, "nhc", gather._parsed(path, text, nhc_conf.parse))
    for name, reason in sorted(tree.errors.items()) if tree else ():
        gather.error("/etc/nhc/" + name, reason, f"/etc/nhc/{name}: {reason}")
        yield _entry(gather, "nhc", "/etc/nhc/" + name, "nhc", None)
    for path in ("/etc/sysconfig/nhc", "/etc/default/nhc") if tree and tree.files else ():
        text = gather.file(path, optional=True)
        if text and text.strip():
            yield _entry(gather, "nhc", path, "nhc", gather._parsed(path, text, nhc_conf.parse))


def _plain(gather):
    path = "/etc/healthagent/config.yaml"
    data = gather.file(path, settings.parse_yaml, optional=True)
    if data is not None or not gather.missing(path):
        yield _entry(gather, "azure_healthagent", path, "yaml", data)


def _of_processes(gather, processes):
    """Files that command lines name, read through the root that the process sees: it may live in a container."""
    for one in processes:
        root = f"/proc/{one['pid']}/root"
        if one["name"] == "node-problem-detector":
            paths = [path for flag in NPD_FLAGS for path in one["flags"].get(flag, "").split(",") if path.startswith("/")]
            for path in paths[:MAX_MONITORS]:
                yield {**_entry(gather, "node_problem_detector", path, "npd", gather.file(root + path, npd_config.parse))}
        elif one["name"] in ("gpu_health_monitor", "syslog-health-monitor"):
            agent = "nvsentinel_gpu" if one["name"] == "gpu_health_monitor" else "nvsentinel_syslog"
            for flag, kind, parse in NVSENTINEL:
                path = one["flags"].get(flag, "").strip("\"'")
                if path.startswith("/"):
                    yield _entry(gather, agent, path, kind, gather.file(root + path, parse))


def _nhc_log(gather):
    """When NHC last wrote to its log, and what."""
    time = gather.command(LOG_TIME, ok=(0, 1))
    if time is None or not time.strip().isdigit():
        return None  # no log: it never ran, or logs elsewhere
    tail = gather.command(LOG_TAIL, nhc_conf.parse_log)
    return {"age_s": round(gather.node.now() - int(time), 3), **(tail or {"last": None, "result": None, "message": None})}


def _scripts(gather, found):
    """What units and cron jobs run that no project is known for.

    {"by", "command", "line": what the command line says, "path", "data": what the script says | None, "reason"}
    """
    runs = [(unit["id"], line) for unit in found["units"] or [] if unit["id"] not in agents.UNITS for line in unit["exec"][:3]]
    runs += [(job["file"], job["command"]) for job in found["cron"] or [] if not _is_nhc(job["command"])]
    scripts = []
    for by, command in runs[:MAX_SCRIPTS]:
        path = agents.program(command)
        data = gather.command([*HEAD, path], health_script.parse) if path and not _is_tool(path) else None
        reason = "" if data else gather.errors[-1]["message"] if path and not _is_tool(path) else "the command line is all there is to read"
        scripts.append({"by": by, "command": command, "line": health_script.scan(command), "path": path, "data": data, "reason": reason})
    return scripts


def _is_nhc(command) -> bool:
    return (agents.program(command) or "").rsplit("/", 1)[-1].startswith("nhc")


def _is_tool(path) -> bool:
    """A scheduler's or vendor's own tool: the command line says what is asked of it."""
    return path.rsplit("/", 1)[-1] in ("srun", "sbatch", "salloc", "scontrol", "kubectl", "dcgmi", "nvidia-smi", "amd-smi", "rocm-smi")
