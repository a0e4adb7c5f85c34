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
    "step": {"type": "str", "choices": ["allocate", "open", "next"], "default": "next"},
    "settings": {"type": "dict", "default": {}},
    "held": {"type": "list", "elements": "dict", "default": []},
}
BESIDE = "{0}_outside_scheduler: true tests beside the scheduler"
PODS = f"load on Kubernetes belongs into pods: accept_pod with image and resources (the RDMA devices) starts them; {BESIDE}"
KUBERNETES = f"load on Kubernetes belongs into pods, which this role does not start; {BESIDE}"
SLURM = f"load belongs into an allocation: salloc --no-shell --exclusive on these nodes, then {{0}}_slurm_job: <job id>; {BESIDE}"
NO_HEAD = f"load belongs into an allocation, which a live host of the cluster in group head would have to ask for; {BESIDE}"
RAILS = 8  # to plan the minutes of an allocation before the nodes have told theirs
SLACK = 15  # minutes of an allocation beyond what the rounds are planned to take, which is doubled


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
            if args["step"] == "allocate":
                return {**nothing, **self._allocate(concern, args["settings"], task_vars)}
            if args["step"] == "open":
                return self._open(concern, args["settings"], task_vars, args["held"])
            plan = rdma_plan.load(self.run_dir)
            facts = {host: self._data(host) for cluster in plan["clusters"].values() for host in cluster["nodes"]}
            plans = rdma_plan.advance(plan, facts, self._floors())
            rdma_plan.save(self.run_dir, plan)
        except (OSError, ValueError, documents.DocumentError) as error:
            return {"failed": True, "msg": f"{concern}: no plan: {' '.join(str(error).split())}"}
        return {**nothing, "done": not plans, **_shares(plans)}

    def _clusters(self):
        contract = documents.read((self.run_dir / "contract.yml").read_bytes(), "contract.yml")
        return {cluster["name"]: cluster for cluster in contract["clusters"]}

    def _allocate(self, concern, settings, task_vars):
        """What to ask whom for, so that the nodes of a scheduler may be loaded: one allocation for each cluster, by its head."""
        passes, wanted = rdma_plan.passes_of(settings, self.record["depth"]), []
        settings = {**settings, "forks": context.CLIARGS.get("forks") or C.DEFAULT_FORKS}
        for name, cluster in self._clusters().items():
            scheduler = cluster.get("scheduler", "none")
            live = [one["name"] for one in self.record["inventory"]["hosts"] if one["cluster"] == name and not one["replay"]]
            nodes = [host for host in live if host in task_vars["ansible_play_hosts_all"]]
            asked = settings.get("pod") if scheduler == "kubernetes" else settings.get("slurm")
            if not nodes or not _refusal(concern, cluster, settings) or (scheduler == "kubernetes" and not asked):
                continue
            head = next((host for host in live if host in task_vars["groups"].get("head", ())), None)
            if head is None:
                continue
            variables = task_vars["hostvars"]
            _, most = rdma_plan.minutes_of(len(nodes), RAILS, passes, settings)[1]
            wanted.append(
                {
                    "cluster": name,
                    "head": head,
                    "scheduler": scheduler,
                    "nodes": {host: variables[host].get("accept_scheduler_name") or host for host in nodes},
                    "settings": asked or {},
                    "minutes": int((asked or {}).get("minutes") or 2 * most + SLACK),
                }
            )
        return {"allocations": wanted}

    def _open(self, concern, settings, task_vars, held=()):
        settings = {**settings, "forks": context.CLIARGS.get("forks") or C.DEFAULT_FORKS}
        clusters = self._clusters()
        held = {one["item"]["cluster"]: one.get("allocation") or _lost(one) for one in held if one.get("item")}
        known = {entry["name"]: entry for entry in self.record["inventory"]["hosts"]}
        hosts, refused = {}, {}
        for name in task_vars["ansible_play_hosts_all"]:
            variables = task_vars["hostvars"][name]
            address = variables.get(f"{concern}_address") or variables.get("ansible_host") or name
            ours = held.get(known[name]["cluster"])
            pod = ((ours or {}).get("pods") or {}).get(name)
            hosts[name] = {"cluster": known[name]["cluster"], "address": pod["address"] if pod and pod["address"] else address}
            reason = "" if known[name]["replay"] else _refusal(concern, clusters.get(known[name]["cluster"], {}), settings, ours, pod)
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
            plan = rdma_plan.load(self.run_dir) if path.exists() else None
            plan = rdma_plan.taken_up(plan, held, refused) if plan else self._made(hosts, facts, settings, refused, held)
            rdma_plan.save(self.run_dir, plan)
            text, plans = rdma_plan.text(plan), {}
        return {"changed": False, "accept_plan": text, "done": False, "refused": list(refused), **_shares(plans)}

    def _made(self, hosts, facts, settings, refused, held):
        return rdma_plan.make(hosts, facts, settings, self.record["depth"], refused, held)

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


def _refusal(concern, cluster, settings, held=None, pod=None):
    """Why a cluster's nodes may not be loaded; empty where they may. `held`: an allocation of ours; `pod`: the node's, of such a one."""
    scheduler = cluster.get("scheduler", "none")
    if scheduler == "none" or settings.get("outside_scheduler") or (scheduler == "slurm" and settings.get("slurm_job")):
        return ""
    if held:
        why = "" if held["state"] == "held" else held["reason"] or "no reason was given"
        why = why or (pod["reason"] if pod else "")
        return f"no allocation: {why}" if why else ""
    if scheduler == "slurm":
        return (NO_HEAD if settings.get("slurm") is not None else SLURM).format(concern)
    return (KUBERNETES if "pod" not in settings else NO_HEAD if settings["pod"] else PODS).format(concern)


def _lost(answer):
    """Where the head did not answer at all."""
    return {
        "state": "refused",
        "reason": "the cluster's head could not be asked: " + " ".join(str(answer.get("msg") or "no answer").split())[:200],
    }


def _shares(plans):
    """Who starts servers, and who measures: so that a task skips the others."""
    servers = [host for host, plan in plans.items() if plan.get("servers") or any(test.get("role") == "server" for test in plan["tests"])]
    clients = [host for host, plan in plans.items() if any(test.get("role") != "server" for test in plan["tests"])]
    return {"plans": plans, "servers": servers, "clients": clients}
