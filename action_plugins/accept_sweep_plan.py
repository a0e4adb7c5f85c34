"""Plan a sweep of collectives and say what is launched next. On the controller, once for all heads, from the run's own evidence."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from ansible.plugins.action import ActionBase

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "module_utils"))

from accept_judge import contract as contracts
from accept_judge import culprit_plan, documents, facts_store, recipe, runs, standards, sweep_facts, sweep_plan
from accept_node.envelope import envelope

ARGUMENTS = {
    "step": {"type": "str", "choices": ["open", "begin", "next"], "default": "next"},
    "settings": {"type": "dict", "default": {}},
    "held": {"type": "list", "elements": "dict", "default": []},
}


class ActionModule(ActionBase):
    _supports_check_mode = True

    def run(self, tmp=None, task_vars=None):
        super().run(tmp, task_vars)
        _, args = self.validate_argument_spec(ARGUMENTS)
        nothing = {"changed": False, "done": True, "plans": {}, "allocations": []}
        if self._task.check_mode:
            return nothing
        run = (task_vars.get("ansible_facts") or {}).get("accept_run")
        if not run:
            return {"failed": True, "msg": "no run is open: import playbooks/preflight.yml first"}
        self.run_dir = Path(run["dir"])
        try:
            self.record = runs.read(self.run_dir)
            self.standards = standards.load(Path(self.record["standards"]["path"]))
            self.contract = contracts.load(self.run_dir / "contract.yml", self.standards)
            step = {"open": self._open, "begin": self._begin, "next": self._next}[args["step"]]
            return {**nothing, **step(args, task_vars)}
        except (OSError, ValueError, documents.DocumentError) as error:
            return {"failed": True, "msg": f"{sweep_plan.CONCERN}: no plan: {' '.join(str(error).split())}"}

    def _open(self, args, task_vars):
        """The plan, or the one that there is already, and the allocations that it needs."""
        if sweep_plan.path_of(self.run_dir).exists():
            plan = sweep_plan.load(self.run_dir)
            for one in plan["clusters"].values():
                one["tried"] = {}
        else:
            plan = {"schema": 1, "settings": args["settings"], "clusters": {}, "refused": {}}
            made = recipe.of_run(self.run_dir, self.standards.folder, self.run_dir / "contract.yml")
            for cluster in self.contract.data["clusters"]:
                view = sweep_facts.view(self.run_dir, self.record, self.standards, self.contract, cluster)
                golden = made.get(cluster["name"])
                settings = {**args["settings"], "provider_env": args["settings"].get("provider_env") or recipe.offered(golden)}
                facts, refused = sweep_facts.cluster(view, cluster, settings, task_vars, recipe.environment(golden))
                if refused:
                    self._refuse(plan, cluster["name"], facts, refused)
                elif facts:
                    plan["clusters"][cluster["name"]] = sweep_plan.cluster(cluster["name"], facts, args["settings"], self.record["depth"])
        sweep_plan.save(self.run_dir, plan)
        runs.say_minutes(self.run_dir, "collectives", max((one["plan"]["minutes"] for one in plan["clusters"].values()), default=0.0))
        wanted = [self._allocation(one, plan["settings"]) for one in plan["clusters"].values()]
        return {"done": False, "accept_plan": sweep_plan.text(plan), "allocations": [one for one in wanted if one]}

    def _allocation(self, one, settings):
        """What to ask of Slurm, so that launches are steps of one job; None where it is not asked."""
        if one["launcher"] != "slurm" or settings.get("slurm_job") or self._known(one["head"])["replay"]:
            return None
        minutes = int((settings.get("slurm") or {}).get("minutes") or 2 * one["plan"]["minutes"] + 30)
        nodes = {node: one["names"].get(node, node) for node in one["placement"]}
        asked = {"cluster": one["name"], "head": one["head"], "scheduler": "slurm", "nodes": nodes, "minutes": minutes}
        return {**asked, "settings": settings.get("slurm") or {}}

    def _begin(self, args, task_vars):
        """Take what was allocated into the plan; a cluster without is not loaded."""
        plan = sweep_plan.load(self.run_dir)
        for told in args["held"]:
            name = (told.get("item") or {}).get("cluster")
            if name not in plan["clusters"]:
                continue
            answer = told.get("allocation") or {"state": "refused", "reason": " ".join(str(told.get("msg") or "no answer").split())[:200]}
            if answer["state"] == "held":
                plan["clusters"][name]["job"] = str(answer["job"])
            else:
                self._refuse(plan, name, plan["clusters"].pop(name), f"no allocation: {answer['reason'] or 'no reason was given'}")
        sweep_plan.save(self.run_dir, plan)
        return {"done": False}

    def _refuse(self, plan, name, facts, reason):
        """Not run, with the reason in the head's envelope."""
        plan["refused"][name] = reason
        head = (facts or {}).get("head")
        if head:
            mode = "replay" if self._known(head)["replay"] else "live"
            told = {"envelopes": [envelope(sweep_plan.CONCERN, mode=mode, owner="cluster", status="not_run", reason=reason)]}
            facts_store.save(self.run_dir, self.record["run_id"], head, told, time.time(), time.time())

    def _next(self, args, task_vars):
        """Head -> arguments of accept_nccl_bench, for heads that have something left to launch."""
        plan, searches, found = sweep_plan.load(self.run_dir), culprit_plan.load(self.run_dir), {}
        for name, one in plan["clusters"].items():
            step = sweep_plan.advance(
                one, self._data(one["head"]), searches, lambda data, name=name, one=one: self._slow(data, name, one["head"])
            )
            if step:
                found[one["head"]] = {
                    **step,
                    **{key: one[key] for key in ("engine", "launcher", "names", "placement", "plan")},
                    "settings": sweep_facts.launcher_settings(plan["settings"], one),
                }
        sweep_plan.save(self.run_dir, plan)
        if searches["searches"]:
            culprit_plan.save(self.run_dir, searches)
        return {"done": not found, "plans": found}

    def _slow(self, data, name, head):
        """Worlds that the judge finds slow, from what has been measured so far."""
        cluster = next(one for one in self.contract.data["clusters"] if one["name"] == name)
        view = sweep_facts.view(self.run_dir, self.record, self.standards, self.contract, cluster, head)
        try:
            return sweep_facts.slow_worlds(data, view)
        except Exception:  # a fault of the judge's ends the search, not the sweep; scoring meets it again and says so
            return []

    def _known(self, host):
        return next((one for one in self.record["inventory"]["hosts"] if one["name"] == host), {"replay": False})

    def _data(self, head):
        """What the head has measured up to now."""
        try:
            found = json.loads((self.run_dir / "facts" / head / f"{sweep_plan.CONCERN}.json").read_bytes())
        except (OSError, ValueError):
            return None
        return found["data"] if found.get("run_id") == self.record["run_id"] else None
