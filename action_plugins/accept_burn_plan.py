"""Plan a burn-in and say whose turn it is. On the controller, once for all hosts, from the run's own evidence."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from ansible.plugins.action import ActionBase

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "module_utils"))

from accept_judge import burn_plan, documents, facts_store, runs
from accept_node.envelope import envelope

ARGUMENTS = {
    "step": {"type": "str", "choices": ["look", "open", "next", "allow"], "default": "next"},
    "concern": {"type": "str", "choices": ["burn_in", "gpu_compute"], "default": "burn_in"},
    "settings": {"type": "dict", "default": {}},
    "wait_s": {"type": "float", "default": 0},
}
SLURM = "load belongs into an allocation: salloc --no-shell --exclusive on these nodes, then {0}_slurm_job: <job id>; "
KUBERNETES = "load on Kubernetes belongs into pods with GPUs and RDMA devices, which this role does not start; "
BESIDE = "{0}_outside_scheduler: true loads beside the scheduler"


class ActionModule(ActionBase):
    _supports_check_mode = True

    def run(self, tmp=None, task_vars=None):
        super().run(tmp, task_vars)
        _, args = self.validate_argument_spec(ARGUMENTS)
        nothing = {"changed": False, "done": True, "fresh": [], "attend": [], "collect": [], "refused": [], "plans": {}, "wait_s": 0}
        if self._task.check_mode:
            return nothing
        run = (task_vars.get("ansible_facts") or {}).get("accept_run")
        if not run:
            return {"failed": True, "msg": "no run is open: import playbooks/preflight.yml first"}
        self.run_dir = Path(run["dir"])
        self.concern = args["concern"]
        try:
            self.record, plan = runs.read(self.run_dir), burn_plan.load(self.run_dir)
            if args["step"] == "look":
                return {**nothing, "fresh": [] if plan else task_vars["ansible_play_hosts_all"]}
            if args["step"] == "allow":
                return {**nothing, "refused": self._refused(args["settings"], task_vars["ansible_play_hosts_all"])}
            if args["step"] == "open":
                return {**nothing, **self._open(plan, args["settings"], task_vars)}
            time.sleep(args["wait_s"])
            facts = {host: self._data(host) for host in plan["hosts"]}
            plan = burn_plan.late(plan, facts, time.time())
            burn_plan.save(self.run_dir, plan)
            turn = burn_plan.turn(plan, facts, time.time())
            return {**nothing, **turn, **({"accept_detached": ""} if turn["done"] else {})}
        except (OSError, ValueError, documents.DocumentError) as error:
            return {"failed": True, "msg": f"{burn_plan.CONCERN}: no plan: {' '.join(str(error).split())}"}

    def _open(self, plan, settings, task_vars):
        begun = plan is not None
        if not begun:
            clusters, known = self._clusters(), self._known()
            hosts, refused = {}, {}
            for name in task_vars["ansible_play_hosts_all"]:
                variables, host = task_vars["hostvars"][name], known[name]
                address = variables.get("burn_in_address") or variables.get("ansible_host") or name
                hosts[name] = {"cluster": host["cluster"], "rack": host["rack"], "address": address}
                reason = "" if host["replay"] else _refusal(clusters.get(host["cluster"], {}), settings, self.concern)
                if reason:
                    refused[name] = reason
            facts = {host: self._data(host) for host in hosts}
            plan = burn_plan.make(self.record["run_id"], hosts, facts, settings, self.record["depth"], time.time(), refused)
            burn_plan.save(self.run_dir, plan)
            self._tell({host: why for host, why in plan["refused"].items() if why != burn_plan.SILENT}, known)
        ends = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(plan["ends_at_s"]))
        again = f"ends {ends}; again: the same command, or -e accept_run_id={self.record['run_id']}"
        told = {"accept_plan": burn_plan.text(plan, begun, again)}
        return {
            **told,
            **({"accept_detached": f"burn_in goes on on the nodes, {again}; playbooks/stop.yml ends it"} if plan["hosts"] else {}),
        }

    def _clusters(self):
        text = (self.run_dir / "contract.yml").read_bytes()
        return {cluster["name"]: cluster for cluster in documents.read(text, "contract.yml")["clusters"]}

    def _known(self):
        return {entry["name"]: entry for entry in self.record["inventory"]["hosts"]}

    def _refused(self, settings, names):
        """The hosts that may not be loaded; their envelopes say why."""
        clusters, known = self._clusters(), self._known()
        live = [name for name in names if not known[name]["replay"]]
        reasons = {name: _refusal(clusters.get(known[name]["cluster"], {}), settings, self.concern) for name in live}
        reasons = {name: reason for name, reason in reasons.items() if reason}
        self._tell(reasons, known)
        return list(reasons)

    def _tell(self, reasons, known):
        """Envelopes of hosts that take no part. One that could not be asked has its own already."""
        for host, reason in reasons.items():
            mode = "replay" if known[host]["replay"] else "live"
            found = {"envelopes": [envelope(self.concern, mode=mode, status="not_run", reason=reason)]}
            facts_store.save(self.run_dir, self.record["run_id"], host, found, time.time(), time.time())

    def _data(self, host):
        """What the node has said up to now."""
        try:
            found = json.loads((self.run_dir / "facts" / host / f"{burn_plan.CONCERN}.json").read_bytes())
        except (OSError, ValueError):
            return None
        return found["data"] if found.get("run_id") == self.record["run_id"] else None


def _refusal(cluster, settings, concern):
    """Why a cluster's nodes may not be loaded; empty where they may."""
    scheduler = cluster.get("scheduler", "none")
    if scheduler == "none" or settings["outside_scheduler"] or (scheduler == "slurm" and settings["slurm_job"]):
        return ""
    return ((SLURM if scheduler == "slurm" else KUBERNETES) + BESIDE).format(concern)
