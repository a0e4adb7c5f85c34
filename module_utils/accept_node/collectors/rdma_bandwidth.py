"""RDMA traffic between nodes: what a node has to do in one round, and what came of it.

A round is what the controller's plan says of this node::

    {"round": "together-1", "settings": {...}, "tests": [{"id", "kind": "pair|loopback|incast", "role": "client|server|both", "peer",
      "address", "port", "device", "peer_device", "verb": "write_bw|read_bw|write_lat", "memory": "host|gpu", "gpu": int | null,
      "gpu_memory": "cuda|cuda_dmabuf|rocm|rocm_dmabuf" | null, "together": bool}]}
    settings: duration_s bytes qps iterations gid_index traffic_class vrf slurm_job container start_after_s server_s client_s

serve() starts the servers, measure() runs the clients (of all rails at once, or one after the other) and the loopbacks, finish() hears
the servers and ends them. Each entry of `tests` says what was asked (as above, with `pass` and `number` of the round), `status`, `reason`,
`gbps` and `latency_us` (null: not measured), and `p99_us bytes gid_index link_type mtu_bytes` as far as perftest told them. `status` is
`ok`; `failed` or `hung`: it began and broke; `refused`, `peer_lost`, `no_client`, `not_run`: it did not begin, or the other end says more.
No thresholds.
"""

from __future__ import annotations

import ipaddress
import re

from ..parsers import ParseError, perftest
from . import containers, rdma_gpus

TOOLS = {"write_bw": "ib_write_bw", "read_bw": "ib_read_bw", "write_lat": "ib_write_lat"}
ROOT = "/sys/class/infiniband"
KEEP = ("kind", "role", "peer", "device", "verb", "memory", "gpu_memory", "together")
STATUS = {"refused": "refused", "peer_lost": "peer_lost"}
# A step that could not begin or was taken away, a pod that is gone: no word on the rail. "task 0: Exited" is the test's own end.
OUTSIDE = re.compile(
    r"(?m)^(?:srun: error: (?!\S+: tasks? )|srun: Job step|srun: Force Terminated|slurmstepd: error: \*\*\*|FATA\[|time=\S+ level=fatal).*"
)
SLACK_S = 10.0  # between the end of the clients and that of their servers


# --- before the first round -----------------------------------------------------------------------------------------------------------


def discover(gather, gid_index=None, container="") -> dict:
    """{"devices": [{name state rate_gbps link_layer gid address gpu}], "perftest": {installed version gpu_memory}, "tests": []}

    `container`: the pod of ours that the tests run in. Its GID tables and its perftest count, not the node's.
    """
    wanted = 0 if gid_index is None else gid_index
    patterns = ["*/ports/1/state", "*/ports/1/rate", "*/ports/1/link_layer", f"*/ports/1/gids/{wanted}", "*/device"]
    inside, root = ["crictl", "exec", container] if container else [], ROOT
    if container:
        pid = containers.pid(gather, container)
        root = f"/proc/{pid}/root{ROOT}" if pid else None
    tree = gather.tree(root, patterns, optional=True) if root else None
    gpus = rdma_gpus.Gpus(gather)
    devices = (
        [] if tree is None else [_device(name, tree, gpus, wanted) for name in sorted({n.split("/")[0] for n in tree.files}, key=_natural)]
    )
    if tree is None and not (root and gather.missing(root)):
        devices = None
    asked = [*inside, "ib_write_bw", "--help"]
    tool = gather.command(asked, ok=None, streams="both", optional=True, timeout_s=15)
    if tool is not None and "--ib-dev" not in tool:  # a container without it: what was said is the runtime's word
        tool = None if inside else tool
        gather.error(" ".join(asked), "missing", "ib_write_bw is not in the pod's image") if inside else None
    version = gather.command([*inside, "ib_write_bw", "--version"], ok=None, streams="both", optional=True, timeout_s=15) if tool else None
    number = re.search(r"\d{1,3}\.\d{1,3}(?:\.\d{1,3})?", version or "")
    installed = None if tool is None and not inside and not gather.missing("ib_write_bw --help") else tool is not None
    told = {
        "installed": installed,
        "version": number and number[0],
        "gpu_memory": gpus.way(tool) if tool else "none" if installed is False else None,
    }
    return {"devices": devices, "perftest": told, "tests": []}


def _device(name, tree, gpus, gid_index):
    port = f"{name}/ports/1/"
    rate = re.match(r"(\d{1,5}(?:\.\d)?) Gb", tree.files.get(port + "rate", ""))
    state = tree.files.get(port + "state", "").split(":")[-1].strip() or None
    gid = tree.files.get(f"{port}gids/{gid_index}", "").strip() or None
    return {
        "name": name,
        "state": state,
        "rate_gbps": float(rate[1]) if rate else None,
        "link_layer": tree.files.get(port + "link_layer", "").strip() or None,
        "gid": gid,
        "address": _address(gid),
        "gpu": gpus.nearest(tree.links.get(f"{name}/device")),
    }


def _address(gid):
    """The IPv4 address of a RoCE GID."""
    try:
        mapped = ipaddress.IPv6Address(gid).ipv4_mapped if gid else None
    except ValueError:
        return None
    return str(mapped) if mapped else None


def _natural(name):
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)]


# --- commands -------------------------------------------------------------------------------------------------------------------------


def command(test, settings) -> list:
    """perftest's command, without what differs from round to round: port and address."""
    argv = [TOOLS[test["verb"]], "-d", test["device"], "-F"]
    if test["verb"].endswith("_lat"):
        argv += ["-s", "2", "-n", str(settings["iterations"])]
    else:
        argv += ["-s", str(settings["bytes"]), "-q", "1" if test["kind"] == "incast" else str(settings["qps"])]
        argv += ["-D", str(settings["duration_s"]), "--report_gbits"]
    if settings.get("gid_index") is not None:
        argv += ["-x", str(settings["gid_index"])]
    if settings.get("traffic_class") is not None:
        argv += [f"--tclass={settings['traffic_class']}"]
    if test["memory"] == "gpu":
        return [*rdma_gpus.environment(test["gpu_memory"]), *argv, *rdma_gpus.options(test["gpu_memory"], test["gpu"])]
    return argv


def wrapped(argv, settings, limit_s, host) -> list:
    """In the rail's VRF, line by line (a killed client has else printed nothing), in our pod or as a step of our job where there is one.

    The limit stands inside too: what began a step or entered a container may be killed, and what runs there does not hear of it.
    """
    vrf = ["ip", "vrf", "exec", settings["vrf"]] if settings.get("vrf") else []
    argv = ["stdbuf", "-oL", *vrf, *argv]
    if settings.get("container"):
        return ["crictl", "exec", settings["container"], "timeout", "-k", "5", str(int(limit_s)), *argv]
    if not settings.get("slurm_job"):
        return argv
    step = ["srun", f"--jobid={settings['slurm_job']}", "--overlap", "--quiet", "-N1", "-n1", f"--nodelist={host.split('.')[0]}"]
    return [*step, "timeout", "-k", "5", str(int(limit_s)), *argv]


# --- a round --------------------------------------------------------------------------------------------------------------------------


def serve(work, plan, host) -> list:
    """Start the servers."""
    work.sleep(plan["settings"].get("start_after_s") or 0)
    for test in plan["tests"]:
        if test["role"] == "server":
            _start(work, plan, test, host, server=True)
    return []


def measure(work, plan, host) -> list:
    """Run the clients and loopbacks; what they found."""
    entries, settings = [], plan["settings"]
    work.sleep(settings.get("start_after_s") or 0)
    clients = [test for test in plan["tests"] if test["role"] == "client"]
    for test in clients:
        if test["together"]:
            _start(work, plan, test, host)
    for test in clients:
        if not test["together"]:
            _start(work, plan, test, host)
        entries.append(entry(plan, test, _result(work, plan, test, settings["client_s"] + SLACK_S)))
    for test in plan["tests"]:
        if test["role"] == "both":
            entries.append(_loopback(work, plan, test, host))
    return entries


def finish(work, plan, host) -> list:
    """What the servers have seen; none of them runs afterwards."""
    return [entry(plan, test, _result(work, plan, test, SLACK_S)) for test in plan["tests"] if test["role"] == "server"]


def _loopback(work, plan, test, host):
    limit = plan["settings"]["client_s"] + SLACK_S
    server = {**test, "id": test["id"] + "-server", "role": "server"}
    _start(work, {**plan, "settings": {**plan["settings"], "server_s": limit}}, server, host, server=True)
    for attempt in range(5):  # the server needs a moment until it listens
        again = {**test, "id": f"{test['id']}-{attempt}"}
        _start(work, plan, again, host)
        found = entry(plan, test, _result(work, plan, again, limit))
        if found["status"] != "refused" or not hasattr(work, "prefix"):
            break
    _result(work, plan, server, 1.0 if found["status"] != "ok" else SLACK_S)
    return found


def _name(plan, test):
    return f"{plan['round']}.{test['id']}"


def _start(work, plan, test, host, server=False):
    settings = plan["settings"]
    base, limit = command(test, settings), settings["server_s" if server else "client_s"]
    argv = [*base, "-p", str(test["port"]), *([] if server else [test["address"]])]
    work.start(_name(plan, test), wrapped(argv, settings, limit, host), limit)


def _result(work, plan, test, timeout_s):
    return work.result(_name(plan, test), timeout_s, command(test, plan["settings"]), test["peer"])


def entry(plan, test, result) -> dict:
    """One test as it turned out."""
    told = {"gbps": None, "latency_us": None}
    status, reason = _judge(test, result, told, plan["settings"]["client_s"])
    name, _, number = plan["round"].rpartition("-")
    kept = {**{key: test.get(key) for key in KEEP}, "traffic_class": plan["settings"].get("traffic_class")}
    return {"pass": name, "number": int(number), **kept, "status": status, "reason": reason, **told}


def _judge(test, result, told, limit_s):
    text = result.stdout + "\n" + result.stderr
    if result.rc == 124 or (result.rc == 137 and result.duration_s >= limit_s):  # of the time limit inside a step or a pod
        result = result._replace(reason="timeout")
    outside = OUTSIDE.search(text)
    if outside and "#bytes" not in text:
        return "not_run", "the allocation: " + " ".join(outside[0].split())[:200]
    if result.reason in ("missing", "permission", "not_started", "not_recorded", "absent", "lost") or result.rc == 127:
        said = text.strip().splitlines()
        return "not_run", f"{result.reason or 'missing'}: {said[-1][:160]}" if said else result.reason or "missing"
    try:
        found = perftest.parse(text)
    except ParseError as error:
        if result.reason == "timeout":
            return "hung", f"nothing printed within {result.duration_s:.0f} s"
        return "failed", f"exit status {result.rc}, {error}"
    told.update({key: found[key] for key in ("gid_index", "link_type", "mtu_bytes") if found[key] is not None})
    if found["waiting"] and not found["errors"]:
        return "no_client", "no client came"
    if result.reason == "timeout":
        return "hung", f"no end within {result.duration_s:.0f} s" + (f"; {found['errors'][0]}" if found["errors"] else "")
    if found["errors"]:
        detail = f" (status {found['status']}, syndrome {found['syndrome']})" if found["status"] is not None else ""
        return STATUS.get(found["cause"], "failed"), f"{found['cause']}: {found['errors'][0]}{detail}"
    if result.rc or not found["rows"]:
        return "failed", f"exit status {result.rc}, {len(found['rows'])} rows{', cut' if found['cut'] else ''}"
    row = found["rows"][-1]
    told.update(gbps=row.get("average_gbps"), latency_us=row.get("average_us"), bytes=row["bytes"])
    told.update({"p99_us": row["p99_us"]} if "p99_us" in row else {})
    return "ok", ""
