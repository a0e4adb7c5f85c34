"""Which health agents run on a node, and how each is set up: units, timers, processes, containers, cron jobs, their configurations, DCGM.

Only what bears an agent's name is looked at (agents.py). Scripts are read as text. Nothing is started, stopped, set or asked to check.
"""

from __future__ import annotations

from .. import agents
from ..parsers import containers, cron, proc_kernel, ps, systemctl
from ..recurrence import span_s
from ..secrets import remove_secrets
from . import health_configs, health_dcgm, health_logs, health_slurm

SYSTEMD = "/run/systemd/system"  # is there where systemd runs
UNIT_FILES = ["systemctl", "list-unit-files", "--no-pager", "--no-legend", "--type=service,timer"]
SHOW = ["systemctl", "show", "--no-pager", "--property=" + ",".join(systemctl.PROPERTIES)]
PS = ["ps", "-ww", "-o", "pid=,etimes=,comm=,args=", "-C", ",".join(sorted({name[: agents.COMM] for name in agents.PROCESSES}))]
CRICTL = ["crictl", "ps", "--name", "^(" + "|".join(agents.CONTAINERS) + ")$", "-o", "json"]
DOCKER = ["docker", "ps", "--no-trunc", "--filter", "name=" + "|".join(agents.CONTAINERS), "--format", "{{json .}}"]
CRON_TREES = (("/etc/cron.d", cron.parse), ("/var/spool/cron", cron.parse_user), ("/var/spool/cron/crontabs", cron.parse_user))
MAX_UNITS, MAX_COMMAND = 60, 500


def collect(gather) -> dict:
    """The data of the concern; standards/schema/concerns/health_audit.json is its shape."""
    uptime = gather.file("/proc/uptime", proc_kernel.parse_uptime)
    found = {
        "uptime_s": uptime and uptime["uptime_s"],
        "units": _units(gather),
        "processes": _processes(gather),
        "containers": _containers(gather),
        "cron": _cron(gather),
    }
    rest = {"logs": health_logs.read(gather), "slurm_programs": health_slurm.read(gather), "dcgm": health_dcgm.read(gather)}
    return {**found, **health_configs.read(gather, found), **rest}


def _units(gather):
    """Services and timers of agents; [] where systemd does not run, None where it does not answer."""
    if gather.names(SYSTEMD, optional=True) is None and gather.missing(SYSTEMD):
        return []
    listed = gather.command(UNIT_FILES, systemctl.parse_unit_files)
    if listed is None:
        return None
    states = {one["id"]: one["state"] for one in listed["unit_files"] if one["state"] != "masked"}
    units = _show(gather, sorted(name for name in states if agents.is_unit(name)))
    if units:
        known = {unit["id"] for unit in units}
        units += _show(gather, sorted({unit["triggers"] for unit in units if unit["id"].endswith(".timer")} - known)) or []
    return units


def _show(gather, names):
    if not names:
        return []
    shown = gather.command([*SHOW, *names[:MAX_UNITS]], systemctl.parse)
    if shown is None:
        return None
    return [{**unit, "exec": [remove_secrets(line)[:MAX_COMMAND] for line in unit["exec"]]} for unit in shown["units"]]


def _processes(gather):
    """ps ends with 1 and says nothing where there is none of them."""
    text = gather.command(PS, ok=(0, 1), streams="both")
    if text is None:
        return None
    if not text.strip():
        return []
    parsed = gather._parsed(" ".join(PS), text, ps.parse)
    if parsed is None:
        return None
    return [
        {
            "name": agents.process_name(one["comm"]) or one["comm"],
            "pid": one["pid"],
            "elapsed_s": one["elapsed_s"],
            "args": remove_secrets(one["args"])[:MAX_COMMAND],
            **_options(remove_secrets(one["args"])[:4000]),
        }
        for one in parsed["processes"]
    ]


def _options(args) -> dict:
    """The options of a command line; those that are time spans in seconds too."""
    flags = agents.flags(args)
    spans = {name: span_s(value) for name, value in flags.items() if "interval" in name}
    return {"flags": flags, "spans_s": {name: value for name, value in spans.items() if value}}


def _containers(gather):
    """Of the container runtimes that answer; [] where there is none, None where none could be asked."""
    answers, errors = [], len(gather.errors)
    listed = gather.command(CRICTL, containers.parse, optional=True)
    answers += [listed["containers"]] if listed else []
    text = gather.command(DOCKER, optional=True)
    if text is not None:
        listed = gather._parsed(" ".join(DOCKER), text, containers.parse_docker) if text.strip() else {"containers": []}
        answers += [listed["containers"]] if listed else []
    if not answers and len(gather.errors) > errors:
        return None
    return [one for answer in answers for one in answer if any(name in (one["name"] or "") for name in agents.CONTAINERS)]


def _cron(gather):
    """Jobs that call themselves health checks, by what they run."""
    jobs, asked = [], False
    text = gather.file("/etc/crontab", optional=True)
    tables = [("/etc/crontab", text, cron.parse)] if text and text.strip() else []
    asked |= text is not None or gather.missing("/etc/crontab")
    for root, parse in CRON_TREES:
        tree = gather.tree(root, ["*"] if root == "/etc/cron.d" else ["root"], optional=True)
        asked |= tree is not None or gather.missing(root)
        tables += [(f"{root}/{name}", text, parse) for name, text in sorted(tree.files.items()) if text.strip()] if tree else []
    for path, text, parse in tables:
        table = gather._parsed(path, text, parse)
        for job in table["jobs"] if table else ():
            program = agents.program(job["command"]) or job["command"].split()[0]
            if agents.named_so(program) or agents.named_so(path) or program.rsplit("/", 1)[-1].startswith("nhc"):
                jobs.append({"file": path, **job, "command": remove_secrets(job["command"])[:MAX_COMMAND]})
    return jobs if asked else None
