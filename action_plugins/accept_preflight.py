"""Open a run: validate what the user gave, choose the run, write its record and plan. On the controller, before anything is measured."""

from __future__ import annotations

import getpass
import os
import platform
import socket
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

from ansible import constants as C
from ansible import context
from ansible.plugins.action import ActionBase
from ansible.release import __version__ as ansible_version

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "module_utils"))

from accept_judge import contract as contracts
from accept_judge import fabric, rail_map, runs, scorecard, standards, sweep_estimate, switch_ports
from accept_judge.documents import DocumentError
from accept_judge.facts_store import UnsafeName, safe
from accept_node.envelope import utc

ARGUMENTS = {
    "contract": {"type": "path", "required": True},
    "standards": {"type": "path", "required": True},
    "evidence": {"type": "path", "required": True},
    "run_id": {"type": "str", "default": ""},
    "concerns": {"type": "list", "elements": "str", "default": []},
    "risk": {"type": "str", "choices": ["read", "load", "disrupt", "destroy"], "default": "read"},
    "depth": {"type": "str", "choices": ["quick", "standard", "full"], "default": "quick"},
    "definition": {"type": "str", "default": ""},
    "version_table": {"type": "str", "default": ""},
    "rail_map": {"type": "str", "default": ""},
}
GROUP = "gpu_nodes"
HEAD = "head"  # answers for its cluster; need not be a node itself


class ActionModule(ActionBase):
    _supports_check_mode = True

    def run(self, tmp=None, task_vars=None):
        super().run(tmp, task_vars)
        _, args = self.validate_argument_spec(ARGUMENTS)
        contract_path, standards_dir = Path(args["contract"]).resolve(), Path(args["standards"]).resolve()
        inventory = ", ".join(task_vars.get("ansible_inventory_sources") or ["the inventory"])
        table = Path(args["version_table"]).resolve() if args["version_table"] else None
        wanted, contract, errors = _wanted(standards_dir, contract_path, table)
        hosts, inventory_errors = _hosts(task_vars, contract, inventory)
        cables, map_errors = _table(args["rail_map"], contract_path.parent / fabric.MAP, rail_map.load)
        switches, switch_errors = _table("", contract_path.parent / switch_ports.FILE, switch_ports.load)
        errors += inventory_errors + map_errors + switch_errors
        definition = args["definition"] or (contract.definition if contract else "")
        if not errors and definition not in wanted.definitions:
            errors.append(f"{contract_path}: definition: {definition!r} unknown; known are {', '.join(sorted(wanted.definitions))}")
        errors += runs.unknown_concerns(standards_dir, args["concerns"]) if wanted else []
        if errors:
            return {"failed": True, "msg": f"nothing was run: {len(errors)} error(s) in the input", "accept_errors": errors}
        inventory_digest = runs.digest(hosts)
        forks = context.CLIARGS.get("forks") or C.DEFAULT_FORKS
        try:
            minutes = {"collectives": self._sweep_minutes(hosts, contract, wanted, task_vars, args)}
        except (TypeError, ValueError) as error:
            return {"failed": True, "msg": "nothing was run: 1 error in the input", "accept_errors": [f"nccl_sweep: {error}"]}
        plan = runs.make_plan(
            standards_dir,
            sum(GROUP in host["groups"] for host in hosts),
            forks,
            args["risk"],
            task_vars.get("ansible_run_tags"),
            task_vars.get("ansible_skip_tags"),
            args["concerns"],
            contract.data["clusters"],
            {name for name, value in task_vars.items() if name.startswith("accept_") and value},
            args["depth"],
            minutes,
        )
        planned = [phase for phase in plan["phases"] if phase["status"] == "planned"]
        evidence = Path(args["evidence"]).resolve()
        try:
            run_id, resumed = runs.choose(evidence, args["run_id"], inventory_digest, contract.sha256)
            record = {
                "schema": runs.SCHEMA,
                "run_id": run_id,
                "started_at": runs.read(evidence / run_id)["started_at"] if resumed else utc(time.time()),
                "operator": os.environ.get("SUDO_USER") or getpass.getuser(),
                "controller": {"hostname": socket.gethostname(), "ansible": ansible_version, "python": platform.python_version()},
                "inventory": {"path": inventory, "sha256": inventory_digest, "hosts": hosts},
                "contract": {"path": str(contract_path), "sha256": contract.sha256},
                "standards": {"path": str(standards_dir), "sha256": wanted.sha256},
                "version_table": str(table) if table else None,
                "rail_map": {"path": str(cables), "sha256": runs.digest(cables)} if cables else None,
                "switch_ports": {"path": str(switches), "sha256": runs.digest(switches)} if switches else None,
                "risk": args["risk"],
                "depth": args["depth"],
                "definition": definition,
                "limit": context.CLIARGS.get("subset"),
                "concerns": [c for phase in planned for c in phase["concerns"]],
                "phases": plan["phases"],
            }
            text = _plan_text(record, plan, evidence / run_id, resumed)
            if self._task.check_mode:
                return {"changed": False, "accept_plan": [*text, "check mode: nothing is measured, so no verdict is reached"]}
            run_dir = runs.open_run(evidence, run_id, record, plan, os.getppid())
            runs.write(run_dir / "contract.yml", contract_path.read_bytes())
            if table:
                runs.write(run_dir / scorecard.VERSION_TABLE, table.read_bytes())
            if cables:
                runs.write(run_dir / fabric.MAP, cables.read_bytes())
            if switches:
                runs.write(run_dir / switch_ports.FILE, switches.read_bytes())
        except (OSError, ValueError) as error:
            return {"failed": True, "msg": f"{evidence}: the run cannot be opened: {error}", "accept_errors": [f"{evidence}: {error}"]}
        opened = {"id": run_id, "dir": str(run_dir), "asked": runs.asked(standards_dir, plan, hosts, contract.data["clusters"])}
        return {"changed": False, "accept_plan": text, "ansible_facts": {"accept_run": opened}}

    def _sweep_minutes(self, hosts, contract, wanted, task_vars, args):
        """Of the collectives, where they may run: to plan a thousand nodes takes a while."""
        if args["risk"] == "read":
            return 0.0
        given = {name: self._templar.template(value) for name, value in task_vars.items() if name.startswith("nccl_sweep_")}
        return sweep_estimate.minutes(hosts, contract.data["clusters"], wanted.profiles, given, args["depth"])


def _wanted(standards_dir, contract_path, table):
    """Standards and contract, as far as they can be read, and all that is wrong with them and with a table given in ours' place."""
    try:
        wanted = standards.load(standards_dir)
    except DocumentError as error:
        return None, None, list(error.errors)
    contract, errors = None, []
    try:
        if table:
            scorecard.use_version_table(wanted, table)
    except DocumentError as error:
        errors += error.errors
    try:
        contract = contracts.load(contract_path, wanted, on=datetime.now(UTC).date())
    except DocumentError as error:
        errors += error.errors
    return wanted, contract, errors


def _table(given, usual, load):
    """A table that lies beside the contract, or where it is said to lie, and all that is wrong with it."""
    path = Path(given).resolve() if given else usual
    if not given and not path.exists():
        return None, []
    try:
        load(path)
    except DocumentError as error:
        return None, list(error.errors)
    return path, []


def _hosts(task_vars, contract, inventory):
    """The nodes to accept as the run's record lists them, and every error of the inventory: the whole inventory, whatever --limit says."""
    names = task_vars.get("groups", {}).get(GROUP) or []
    if not names:
        return [], [f"{inventory}: group {GROUP}: no hosts; put the nodes to accept there"]
    clusters = [cluster["name"] for cluster in contract.data["clusters"]] if contract else []
    hosts, errors = [], []
    heads = [name for name in task_vars["groups"].get(HEAD, ()) if name not in names]
    for name in [*names, *heads]:
        try:
            safe(name)
        except UnsafeName as error:
            errors.append(f"{inventory}: {error}")
        variables = task_vars["hostvars"].raw_get(name)
        hosts.append(
            {
                "name": name,
                "cluster": variables.get("accept_cluster") or (clusters[0] if len(clusters) == 1 else ""),
                "rack": str(variables.get("accept_rack") or ""),
                "groups": sorted(group for group in variables.get("group_names", ()) if group not in ("all", "ungrouped")),
                "replay": bool(variables.get("accept_replay")),
            }
        )
    members = [host for host in hosts if host["name"] in names]
    return hosts, errors + (contracts.inventory_faults(contract, members) if contract else [])


def _plan_text(record, plan, run_dir, resumed):
    """The plan as a user reads it before anything runs."""
    minutes = sum(phase["minutes"] for phase in plan["phases"] if phase["status"] == "planned")
    lines = [
        f"Run {record['run_id']}{' (goes on)' if resumed else ''}: {plan['hosts']} nodes, definition {record['definition']}, "
        f"risk {record['risk']}, depth {record['depth']}, about {max(minutes, 0.1):.1f} min; evidence in {_short(run_dir)}"
    ]
    for phase in plan["phases"]:
        if phase["status"] == "planned":
            lines.append(f"  {phase['name']:<12} {phase['minutes']:>5.1f} min  {', '.join(phase['concerns'])}")
        else:
            lines.append(f"  {phase['name']:<12}   not run  {phase['reason']}")
    return lines


def _short(path):
    """A path as the user would type it from where they stand."""
    try:
        return path.relative_to(Path.cwd())
    except ValueError:
        return path
