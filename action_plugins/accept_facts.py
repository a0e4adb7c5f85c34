"""The wrapper of every module that reads or loads a node: it saves envelopes as they arrive and turns a lost node into envelopes.

An unreachable node is a fact of the acceptance run, not an error of Ansible's: the other nodes finish and the gate still speaks.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from ansible.errors import AnsibleConnectionFailure, AnsibleError
from ansible.plugins.action import ActionBase

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "module_utils"))

from accept_judge import facts_store
from accept_node.envelope import envelope

# Modules that load a node, a round at a time (this file is their action plugin too, by symbolic links) -> what they measure
LOADS = {
    "accept_rdma_bench": ["rdma_bandwidth"],
    "accept_net_bench": ["mgmt_network"],
    "accept_burn_in_bench": ["burn_in"],
    "accept_gpu_bench": ["gpu_compute"],
    "accept_nccl_bench": ["nccl_sweep"],
}


class ActionModule(ActionBase):
    _supports_check_mode = True

    def run(self, tmp=None, task_vars=None):
        super().run(tmp, task_vars)
        load = LOADS.get(self._task.action.rpartition(".")[2])
        concerns = load or self._task.args["concerns"]
        if self._task.check_mode:
            return {"changed": False, "skipped": True, "msg": "check mode measures nothing"}
        run = (task_vars.get("ansible_facts") or {}).get("accept_run")
        if not run:
            return {"failed": True, "msg": "no run is open: import playbooks/preflight.yml first"}
        before = time.time()  # the observer's clock
        lost = ""
        try:
            result = self._execute_module(task_vars=task_vars)
        except AnsibleConnectionFailure as error:
            result, lost = {}, f"unreachable: {_one_line(error)}"
        except AnsibleError as error:
            result, lost = {}, f"module could not be sent: {_one_line(error)}"
        if result.get("failed") and "envelopes" not in result:
            if not _crashed(result):
                return result
            lost = f"module did not run: {_why(result)}"
        after = time.time()
        if lost:
            mode = "replay" if self._task.args.get("replay") else "live"
            result = {"envelopes": [envelope(concern, mode=mode, status="error", reason=lost) for concern in concerns]}
        host = task_vars["inventory_hostname"]
        try:
            saved = facts_store.save(Path(run["dir"]), run["id"], host, result, before, after, append=bool(load))
        except (OSError, facts_store.UnsafeName) as error:
            return {"failed": True, "msg": f"{host}: evidence could not be saved: {_one_line(error)}; what was saved earlier is intact"}
        first = result["envelopes"][0]
        unreachable = first["reason"] if first["status"] == "error" and first["reason"].startswith(("unreachable", "module ")) else ""
        return {"changed": False, "accept_facts": saved, **({"accept_lost": unreachable} if unreachable else {})}


def _crashed(result) -> bool:
    """A module that never reached its own main: no Python, too old a Python, a full disk on the node, a bug."""
    return "module_stderr" in result or "exception" in result or "module_stdout" in result


def _why(result) -> str:
    """The last line of what the node said instead of an answer, or what it means."""
    told = result.get("exception", "")
    told = getattr(getattr(told, "event", None), "msg", told)  # an object of Ansible's own on every failure, the module's words in it
    printed = [str(result.get(key, "")) for key in ("module_stdout", "module_stderr")]
    text = "\n".join(printed if any(part.strip() for part in printed) else [str(told)])
    if "future feature annotations is not defined" in text or "minimum of Python version" in text:
        return "the node's Python is older than 3.8; install a newer one there and set ansible_python_interpreter"
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("Shared connection to")]
    return (lines[-1] if lines else _one_line(result.get("msg", "no output")))[:300]


def _one_line(error) -> str:
    return " ".join(str(getattr(error, "message", None) or error).split())[:300]
