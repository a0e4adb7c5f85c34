"""A node's part in a burn-in: what it could load, the job that loads it, the series that came of it.

discover() tells devices, engine and what must not change meanwhile; attend() begins the job, once, or tells how it stands; collect() makes
figures of its series (burn_series.py) and forgets the job. Each returns a part of the envelope's data; parts of one run are joined.
No thresholds.
"""

from __future__ import annotations

import gzip
import importlib.util
import inspect
import io
import json
import os
import re
import sys

from .. import burn_series, jobs
from ..engines import burn_in as conductor
from ..engines import load, load_cpu, load_torch, mesh, sampler
from ..parsers import ParseError, nvidia_smi_csv

SMI = ["nvidia-smi", "--query-gpu=index,pci.bus_id,name,enforced.power.limit", "--format=csv,noheader"]
DRM, ONLINE, BOOT_ID = "/sys/class/drm", "/sys/devices/system/cpu/online", "/proc/sys/kernel/random/boot_id"
RUN = 'import runpy\nimport sys\n\nrunpy.run_module(sys.argv.pop(1), run_name="__main__", alter_sys=True)\n'
GRACE_S = 20.0
SERIES, STATUS, TORCH = ["burn_in", "series"], ["burn_in", "status"], "import torch; print(torch.__version__, torch.cuda.device_count())"


# --- before it begins -----------------------------------------------------------------------------------------------------------------


def discover(gather, settings) -> dict:
    """{"devices_found": [{name slot pci model index | cpu}], "engine", "python", "ready", "ready_reason", "boot_id_before",
    "limits_before": {device: watts}}
    """
    gpus = _nvidia(gather)
    gpus = _amd(gather) if gpus == [] else gpus  # tools that do not answer are not tools that are not there
    wanted = settings.get("engine") or "auto"
    engine = wanted if wanted != "auto" else "torch" if gpus or gpus is None else "cpu"
    python, ready, reason = settings.get("python") or "", True, ""
    if gpus is None and engine == "torch":
        ready, reason = None, "the node's GPUs could not be listed"
    elif engine == "torch" and not gpus and wanted == "auto":
        engine = "cpu"
    if engine == "torch" and ready:
        ready, reason = _torch(gather, python, len(gpus or ()))
    devices = gpus if engine == "torch" else _cores(gather, settings.get("workers") or 0, settings.get("cores") or "")
    if ready and not devices:
        ready, reason = None, "no device to load was found"
    return {
        "devices_found": devices,
        "engine": engine,
        "python": python,
        "ready": ready,
        "ready_reason": reason,
        "boot_id_before": (gather.file(BOOT_ID) or "").strip() or None,
        "limits_before": {gpu["name"]: gpu.pop("limit_w") for gpu in gpus} if gpus else {},
    }


def _nvidia(gather):
    """NVIDIA's GPUs; [] without the tool, None where it does not answer."""
    table = gather.command(SMI, nvidia_smi_csv.parse, timeout_s=60, optional=True)
    if table is None:
        return [] if gather.missing(" ".join(SMI)) else None
    rows = [row for row in table["rows"] if len(row) == 4]
    rows.sort(key=lambda row: str(row[1]))  # the engines count as the bus does
    return [{"name": f"gpu{n}", "slot": n, "index": n, "pci": row[1], "model": row[2], "limit_w": row[3]} for n, row in enumerate(rows)]


def _amd(gather):
    tree = gather.tree(DRM, ["card[0-9]*/device/vendor", "card[0-9]*/device"], optional=True)
    cards = [] if tree is None else [name.split("/")[0] for name, text in tree.files.items() if text.strip() == "0x1002"]
    paths = sorted(os.path.basename(tree.links.get(f"{card}/device", "")) for card in cards)
    return [{"name": f"gpu{n}", "slot": n, "index": n, "pci": pci, "model": "amdgpu", "limit_w": None} for n, pci in enumerate(paths)]


def _cores(gather, workers, wanted) -> list:
    """Online cores as devices, those and as many as were asked for."""
    cores = _numbers(gather.file(ONLINE) or "")
    if wanted:
        cores = [cpu for cpu in cores if cpu in _numbers(wanted)]
    return [{"name": f"cpu{cpu}", "slot": n, "cpu": cpu, "pci": None, "model": None} for n, cpu in enumerate(cores[: workers or None])]


def _numbers(text) -> list:
    """0-3,6 as the kernel writes it."""
    found = [re.fullmatch(r"(\d{1,5})(?:-(\d{1,5}))?", part) for part in text.strip().split(",")]
    return [cpu for part in found if part for cpu in range(int(part[1]), int(part[2] or part[1]) + 1)]


def _torch(gather, python, count):
    """(does this interpreter's PyTorch see the GPUs, why not)"""
    if not python:
        return False, "burn_in_python names no interpreter with PyTorch, and nothing is installed on nodes"
    text = gather.command([python, "-c", TORCH], timeout_s=120, optional=True)
    if text is None:
        return False, f"{python}: not there, or without PyTorch; nothing is installed on nodes"
    seen = text.split()[-1] if text.split() else "?"
    return (True, "") if seen == str(count) else (False, f"{python}: its PyTorch sees {seen} GPUs, the node has {count}")


# --- the job --------------------------------------------------------------------------------------------------------------------------


def files(settings) -> dict:
    """What is sent beside the job: the engines, a script that runs one, and the settings."""
    modules = (conductor, load, load_cpu, load_torch, mesh, sampler)
    sent = {f"engines/{module.__name__.rpartition('.')[2]}.py": _source(module) for module in modules}
    return {**sent, "engines/__init__.py": "", "run.py": RUN, "settings.json": json.dumps(settings)}


def _source(module) -> str:
    """A module's text, also where it was shipped in a zip."""
    try:
        return inspect.getsource(module)
    except OSError:
        spec = importlib.util.find_spec(module.__name__)
        return spec.loader.get_source(module.__name__)


def argv(plan, host) -> list:
    own = [sys.executable, "{folder}/run.py", "engines.burn_in", "{folder}"]
    if not plan.get("slurm_job"):
        return own
    step = ["srun", f"--jobid={plan['slurm_job']}", "--overlap", "--quiet", "-N1", "-n1", f"--nodelist={host.split('.')[0]}"]
    return [*step, "--job-name=accept-burn-in", *own]


class LiveJob:
    """The job of this node, named <run_id>.burn_in."""

    def __init__(self, run_id):
        self.name = f"{run_id}.burn_in"

    def begin(self, plan, host):
        settings = dict(plan["settings"])
        settings["python"] = settings.get("python") or sys.executable
        return jobs.start(self.name, argv(plan, host), plan["deadline_s"], GRACE_S, files(settings))

    def status(self):
        return jobs.status(self.name)

    def raw(self):
        """The series as it lies there, or b""."""
        try:
            with open(os.path.join(jobs.folder_of(self.name), "series.jsonl.gz"), "rb") as handle:
                return handle.read()
        except OSError:
            return b""

    def forget(self):
        jobs.forget(self.name)


class RecordedJob:
    """The same from a capture: the commands `burn_in status` and `burn_in series`."""

    def __init__(self, node):
        self.node = node

    def begin(self, plan, host):
        return self.status()

    def status(self):
        found = self.node.run(STATUS)
        try:
            return json.loads(found.stdout)
        except ValueError:
            return {"state": "absent", "reason": found.reason or "not_recorded", "message": "", "stderr": ""}

    def raw(self):
        text = self.node.run(SERIES).stdout
        return gzip.compress(text.encode("utf-8", "surrogatepass"), 1) if text else b""

    def forget(self):
        pass


def attend(job, plan, host) -> dict:
    """{"job": how it stands}. A job that was begun before and is gone is not begun again."""
    try:
        told = job.status() if plan.get("begun") else job.begin(plan, host)
    except (jobs.JobError, OSError) as error:
        told = {"state": "not_begun", "reason": "not_begun", "message": str(error)}
    return {"job": _told(told)}


def _told(told) -> dict:
    keep = ("state", "reason", "rc", "started_at_s", "ended_at_s", "deadline_at_s")
    tail = [line for line in str(told.get("stderr") or "").splitlines() if line.strip()][-1:]
    return {**{key: told.get(key) for key in keep}, "message": str(told.get("message") or (tail[0] if tail else ""))[:300]}


def collect(gather, job) -> tuple:
    """(data, the series as gzip). The job's state on the node is gone afterwards."""
    told = job.status()
    if told["state"] == "running":
        return {"job": _told(told)}, b""
    raw, figures = job.raw(), {}
    try:
        figures = burn_series.summarise(_lines(raw))
    except (ParseError, OSError, EOFError) as error:
        gather.error("series.jsonl.gz", "unparsable", f"burn_in: {error}")
    boot_id = (gather.file(BOOT_ID) or "").strip() or None
    job.forget()
    return {**figures, "job": {**_told(told), "collected": True}, "boot_id_after": boot_id}, raw


def _lines(raw):
    """Line by line; a member that was being written when all ended is left out."""
    with gzip.open(io.BytesIO(raw), "rt", encoding="utf-8", errors="replace") as handle:
        try:
            yield from handle
        except (EOFError, OSError, ValueError):
            return
