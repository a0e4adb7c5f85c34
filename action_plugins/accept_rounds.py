"""Plan loads between nodes: who works with whom in the next round. On the controller, once for all hosts, from the run's own evidence."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from ansible import constants as C
from ansible import context
from ansible.plugins.action import ActionBase

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "module_utils"))

from accept_judge import contract as contracts
from accept_judge import documents, facts_store, mgmt_plan, rdma_plan, runs, standards
from accept_judge.wanted import Lookup
from accept_node.envelope import envelope

ARGUMENTS = {
    "concern": {"type": "str", "choices": ["rdma_bandwidth", "mgmt_network"], "required": True},
    "step": {"type": "str", "choices": ["open", "next"], "default": "next"},
    "settings": {"type": "dict", "default": {}},
}
BESIDE = "{0}_outside_scheduler: true tests beside the scheduler"
KUBERNETES = f"load on Kubernetes belongs into pods with the RDMA devices, which this role does not start; {BESIDE}"
SLURM = f"load belongs into an allocation: salloc --no-shell --exclusive on these nodes, then {{0}}_slurm_job: <job id>; {BESIDE}"


class ActionModule(ActionBase):
    _supports_check_mode = True

    def run(self, tmp=None, task_vars=None):
        super().run(tmp, task_vars)
        _, args = self.validate_argument_spec(ARGUMENTS)
        nothing = {"changed": False, "done": True, "plans": {}, "servers": [], "clients": []}
        if self._task.check_mode:
            return nothing
        run = (task_vars.get("ansible_facts") or {}).get("accept_run")
        if not run:
            return {"failed": True, "msg": "no run is open: import playbooks/preflight.yml first"}
        self.run_dir, concern = Path(run["dir"]), args["concern"]
        try:
            self.record = runs.read(self.run_dir)
            if args["step"] == "open":
                return self._open(concern, args["settings"], task_vars)
            plan = rdma_plan.load(self.run_dir)
            facts = {host: self._data(host) for cluster in plan["clusters"].values() for host in cluster["nodes"]}
            plans = rdma_plan.advance(plan, facts, self._floors())
            rdma_plan.save(self.run_dir, plan)
        except (OSError, ValueError, documents.DocumentError) as error:
            return {"failed": True, "msg": f"{concern}: no plan: {' '.join(str(error).split())}"}
        return {**nothing, "done": not plans, **_shares(plans)}

    def _open(self, concern, settings, task_vars):
        settings = {**settings, "forks": context.CLIARGS.get("forks") or C.DEFAULT_FORKS}
        clusters = {
            cluster["name"]: cluster for cluster in documents.read((self.run_dir / "contract.yml").read_bytes(), "contract.yml")["clusters"]
        }
        known = {entry["name"]: entry for entry in self.record["inventory"]["hosts"]}
        hosts, refused = {}, {}
        for name in task_vars["ansible_play_hosts_all"]:
            variables = task_vars["hostvars"][name]
            address = variables.get(f"{concern}_address") or variables.get("ansible_host") or name
            hosts[name] = {"cluster": known[name]["cluster"], "address": address}
            reason = "" if known[name]["replay"] else _refusal(concern, clusters.get(known[name]["cluster"], {}), settings)
            if reason:
                refused[name] = reason
        self._tell(refused, concern, lambda reason: {"status": "not_run", "reason": reason})
        if concern == mgmt_plan.CONCERN:
            plan = mgmt_plan.make(hosts, settings, refused)
            self._tell(dict.fromkeys(plan["idle"]), concern, lambda _: {"status": "ok", "data": {"sampled": False, "peers": []}}, known)
            text, plans = mgmt_plan.text(plan, settings, refused), plan["plans"]
        else:
            path = rdma_plan.path_of(self.run_dir)
            facts = {host: self._data(host) for host in hosts}
            plan = rdma_plan.load(self.run_dir) if path.exists() else rdma_plan.make(hosts, facts, settings, self.record["depth"], refused)
            rdma_plan.save(self.run_dir, plan)
            text, plans = rdma_plan.text(plan), {}
        return {"changed": False, "accept_plan": text, "done": False, "refused": list(refused), **_shares(plans)}

    def _tell(self, reasons, concern, fields, known=None):
        """Envelopes of hosts that take no part, in the plan's words."""
        for host, reason in reasons.items():
            mode = "replay" if known and known[host]["replay"] else "live"
            found = {"envelopes": [envelope(concern, mode=mode, **fields(reason))]}
            facts_store.save(self.run_dir, self.record["run_id"], host, found, time.time(), time.time())

    def _data(self, host):
        """What the node has measured up to now."""
        try:
            found = json.loads((self.run_dir / "facts" / host / f"{rdma_plan.CONCERN}.json").read_bytes())
        except (OSError, ValueError):
            return None
        return found["data"] if found.get("run_id") == self.record["run_id"] else None

    def _floors(self):
        """Cluster -> key -> what is wanted, as far as contract and profiles say: below it a pair is looked at again."""
        wanted = standards.load(Path(self.record["standards"]["path"]))
        contract = contracts.load(self.run_dir / "contract.yml", wanted)
        floors = {}
        for cluster in contract.data["clusters"]:
            lookup = Lookup(wanted, contract, cluster["name"], cluster["sku"], "no profile", documents.moment(self.record["started_at"]))
            floors[cluster["name"]] = {key: lookup.key(key).value for *_, key in rdma_plan.PASSES.values() if key}
        return floors


def _refusal(concern, cluster, settings):
    """Why a cluster's nodes may not be loaded; empty where they may."""
    scheduler = cluster.get("scheduler", "none")
    if scheduler == "none" or settings.get("outside_scheduler") or (scheduler == "slurm" and settings.get("slurm_job")):
        return ""
    return (SLURM if scheduler == "slurm" else KUBERNETES).format(concern)


def _shares(plans):
    """Who starts servers, and who measures: so that a task skips the others."""
    servers = [host for host, plan in plans.items() if plan.get("servers") or any(test.get("role") == "server" for test in plan["tests"])]
    clients = [host for host, plan in plans.items() if any(test.get("role") != "server" for test in plan["tests"])]
    return {"plans": plans, "servers": servers, "clients": clients}
