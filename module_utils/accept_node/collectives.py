"""Launches of a benchmark of collectives, one after the other or all at once, and what each of them amounts to.

A launch is a dict: name, collective, mode, nodes, node_set, ranks_per_node, min_bytes, max_bytes, iterations, warmup, env, repeat, round,
timeout_s. Its run is an item of `runs` of standards/schema/concerns/nccl_sweep.json. Whatever happens to a launch is a run with a reason;
what it printed until then is kept, and is never taken for the whole.
"""

from __future__ import annotations

from . import collective_engines as engines
from . import collective_rows as rows
from .launchers import Launch, kubernetes, local, mpirun, slurm
from .parsers import ParseError

LAUNCHERS = {"slurm": slurm, "mpirun": mpirun, "kubernetes": kubernetes, "local": local}
SLACK_S = 15  # beyond the launch's own limit: starting a thousand ranks, and printing what they said
PAUSE_S = 1.0  # between any two starts: a scheduler that is asked by every launch at once is overwhelmed
PORT, PORTS = 29511, 64
NOT_STARTED = {"missing": "launcher_missing", "permission": "launcher_missing", "not_recorded": "not_started", "not_started": "not_started"}


class Sweep:
    """`work` runs or replays; `names`: node -> what the launcher calls it."""

    def __init__(self, work, engine: str, launcher: str, settings: dict, names: dict | None = None):
        self.work, self.engine, self.settings, self.names = work, engine, settings, names or {}
        self.launcher_name, self.launcher = launcher, LAUNCHERS[launcher]
        self.version, self.library, self.begun = None, None, 0

    def run(self, launches: list, parallel: bool) -> list:
        """The runs of these launches. `parallel`: all are started before the first is waited for."""
        if parallel:
            for launch in launches:
                self._start(launch)
            return [self._finish(launch) for launch in launches]
        found = []
        for launch in launches:
            self._start(launch)
            found.append(self._finish(launch))
        return found

    def _argv(self, launch) -> list:
        spawns = engines.spawns(self.engine, self.launcher_name)
        called = tuple(self.names.get(node, node) for node in launch["nodes"])
        master = "127.0.0.1" if self.launcher_name == "local" else called[0]
        if self.launcher_name == "kubernetes":
            name = kubernetes.pod_name(self.settings, Launch(launch["name"], called, 1, [], {}, 1))
            master = f"{name}-0.{name}"
        asked = {**launch, "nodes": len(called), "master": master, "port": PORT + self.begun % PORTS}
        program = engines.program(self.engine, asked, self.settings, spawns)
        shape = Launch(launch["name"], called, launch["ranks_per_node"], program, launch["env"], launch["timeout_s"], spawns)
        return self.launcher.argv(shape, self.settings)

    def _start(self, launch):
        if self.begun and self.launcher_name in ("slurm", "kubernetes"):
            self.work.sleep(PAUSE_S)
        self.work.start(launch["name"], self._argv(launch), launch["timeout_s"] + SLACK_S)
        self.begun += 1

    def _finish(self, launch) -> dict:
        told = self.work.result(launch["name"], launch["timeout_s"] + 2 * SLACK_S, recorded_as(self.engine, launch), str(launch["repeat"]))
        ranks = len(launch["nodes"]) * launch["ranks_per_node"]
        text = told.stdout + ("\n" + told.stderr if told.stderr else "")
        record = self._record(text)
        status, cause, reason = self._outcome(told, record, launch, ranks, text)
        if record:
            self.version, self.library = self.version or record["tool_version"], self.library or record["library_version"]
        return {
            **{key: launch[key] for key in ("name", "collective", "mode", "nodes", "node_set", "repeat", "min_bytes", "max_bytes")},
            "round": launch.get("round"),
            "ranks": ranks,
            "status": status,
            "reason": reason[:500],
            "cause": cause,
            "unfinished_bytes": record["unfinished_bytes"] if record else None,
            "rows": record["rows"] if record else [],
            "transport": engines.transport(self.engine, told.stdout),
            "duration_s": round(told.duration_s, 3),
        }

    def _record(self, text):
        """The record of what was printed, None where the benchmark has said nothing."""
        try:
            return engines.read(self.engine, text)
        except ParseError:
            return None

    def _outcome(self, told, record, launch, ranks, text) -> tuple:
        """(status, cause, reason): the launcher's own words say most, then those of the benchmark."""
        if told.reason in NOT_STARTED:
            what = f"{self._tool(told)}: {told.reason.replace('_', ' ')}" + (
                f": {told.stderr.strip()[-200:]}" if told.stderr.strip() else ""
            )
            return "error", NOT_STARTED[told.reason], what
        cause, words = self.launcher.why(text, self.settings)
        begun = bool(record and (record["rows"] or record["unfinished_bytes"] is not None or record["ranks"]))
        if told.reason == "timeout" or (told.reason == "" and "accept: hang: " in text):
            if cause == "pending" and not begun:
                return "error", "pending", f"still waiting for its nodes after {told.duration_s:.0f} s: {words}"
            at = record["unfinished_bytes"] if record else None
            where = f" at {at} bytes" if at else "" if begun else " before the first size"
            return "hang", "hang", f"no end after {told.duration_s:.0f} s{where}"
        if told.reason:
            return "error", "not_started", f"{self._tool(told)}: {told.reason}"
        if record is None:
            said = words or next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "nothing")
            return "error", cause or "output", f"exit status {told.rc}, and no benchmark: {said[:300]}"
        self._asked(record, launch, ranks)
        status, reasons = record["status"], list(record["reasons"])
        if cause and (told.rc or status != "ok"):
            reasons.insert(0, words)
        if told.rc:
            status = "partial" if status == "ok" and record["rows"] else "error" if not record["rows"] else status
            reasons = reasons or [f"exit status {told.rc}"]
        if status == "ok":
            return "ok", "", "; ".join(reasons)
        return status, cause or ("rank_died" if record["errors"] and begun else "output"), "; ".join(dict.fromkeys(reasons))

    @staticmethod
    def _asked(record, launch, ranks):
        """What was asked for beside what ran: as many ranks, and every size."""
        if record["ranks"] is not None and record["ranks"] != ranks:
            rows.add(record, f"{record['ranks']} of {ranks} ranks took part: started without the launcher's process management?", "error")
        lacking = rows.missing(record, rows.sizes(launch["min_bytes"], launch["max_bytes"], engines.FACTOR), engines.FACTOR)
        if record["rows"] and lacking and not any(reason.startswith("no result for") for reason in record["reasons"]):
            rows.add(record, f"no result for {rows.named(lacking)} bytes")

    def _tool(self, told):
        return self.launcher.TOOL or (told.argv[0] if told.argv else "the benchmark")


def recorded_as(engine: str, launch: dict) -> list:
    """How a capture names a launch; the number of the repeat, or "*", stands behind it."""
    named = ["rails:" + ",".join(launch["rails"])] if launch.get("rails") else []
    return ["nccl_sweep", engine, launch["collective"], launch["mode"], ",".join(launch["nodes"]), *named]
