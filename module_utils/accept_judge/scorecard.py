"""score(): evidence, standards and contract in, scorecard out. No node, no network, no Ansible."""

from __future__ import annotations

import datetime
import gc
from pathlib import Path

from . import analysis, documents, evidence, recipe, rollup, shares
from . import contract as contracts
from . import standards as standards_of
from . import tally as tallies
from .context import detect, settle, vendor_of
from .decision import NoVerdict, decide
from .evaluate import Check, Judged
from .groups import Group
from .wanted import Lookup, age_days

SCHEMA = 1
VERSION_TABLE = "version_table.json"  # the run's copy of a table that was given in the place of ours
ERRORS = (documents.DocumentError, evidence.EvidenceError, NoVerdict)  # what score() raises, each in one line


def score(run_dir, standards_dir, contract=None, *, version_table=None, definition=None, generated_at=None) -> dict:
    """The scorecard of a run, as docs/evidence.md has it.

    `contract` is the path of a contract or None; `version_table` a ClusterMAX minimum-versions JSON that takes the place of
    baselines/versions; `definition` an id that goes before the contract's and the run's. Raises DocumentError, EvidenceError or NoVerdict.
    """
    standards = standards_of.load(Path(standards_dir))
    if version_table:
        use_version_table(standards, Path(version_table))
    agreed = contracts.load(Path(contract), standards) if contract else None
    run = evidence.read_run(Path(run_dir))
    if agreed:
        hosts = run["inventory"]["hosts"]
        nodes = [host for host in hosts if "gpu_nodes" in (host.get("groups") or ())]  # a head stands in no rack of nodes
        faults = contracts.inventory_faults(agreed, nodes or hosts)
        if faults:
            raise documents.DocumentError(faults)
    collecting = gc.isenabled()
    gc.disable()  # envelopes are trees, freed as they go; looking for cycles among them took a sixth of the time
    try:
        return _Judge(Path(run_dir), run, standards, agreed, definition).card(generated_at)
    finally:
        if collecting:
            gc.enable()


def recipes(run_dir, standards_dir, contract=None) -> list:
    """The golden recipes of a run that need not be over yet."""
    standards = standards_of.load(Path(standards_dir))
    agreed = contracts.load(Path(contract), standards) if contract else None
    return _Judge(Path(run_dir), evidence.read_run(Path(run_dir)), standards, agreed, None).recipes()


def use_version_table(standards, path: Path) -> None:
    """Put another table of minimum versions in the place of baselines/versions."""
    from . import clustermax

    table, digest = clustermax.load(path, standards.baselines.get("versions") or {})
    standards.baselines["versions"], standards.digests["baselines/versions"] = table, digest


class _Judge:
    """One scoring, from host to host: no more than one host's data is held at a time."""

    def __init__(self, run_dir: Path, run: dict, standards, contract, definition: str | None):
        self.run_dir, self.run, self.standards, self.contract = run_dir, run, standards, contract
        name = definition or (contract and contract.definition) or run.get("definition") or "audit"
        if name not in standards.definitions:
            raise documents.DocumentError([f"definition: {name}: none of {', '.join(sorted(standards.definitions))}"])
        self.definition = standards.definitions[name]
        self.started_at = documents.moment(run["started_at"])
        wanted = self.definition["concerns"]
        self.checks = [Check(check) for check in standards.checks if wanted == "all" or check["concern"] in wanted]
        self.concerns = list(dict.fromkeys(check.concern for check in self.checks))
        self.hosts = self._listed()
        self.members = {host.cluster: () for host in self.hosts}  # cluster -> its nodes
        for host in self.hosts:
            self.members[host.cluster] += (host.name,) if host.member else ()
        waivers, self.notes = contract.waivers(self.started_at.date()) if contract else ([], [])
        self.tally = tallies.Tally(waivers)
        self.contexts, self.lookups, self.scoped, self.needed = {}, {}, {}, {}
        for cluster in dict.fromkeys(
            [host.cluster for host in self.hosts] + [c["name"] for c in (contract.data["clusters"] if contract else ())]
        ):
            self._settle(cluster)
        self.groups: dict = {}
        self.phases = [self._phase(phase) for phase in run.get("phases") or ()]

    def _listed(self) -> list[rollup.Host]:
        """The inventory's hosts. Where it names GPU nodes, the others only speak for their cluster."""
        entries = self.run["inventory"]["hosts"]
        named = any("gpu_nodes" in (entry.get("groups") or ()) for entry in entries)
        return [
            rollup.Host(
                entry["name"],
                entry.get("cluster") or "",
                entry.get("rack") or "",
                not named or "gpu_nodes" in (entry.get("groups") or ()),
                bool(entry.get("replay")),
            )
            for entry in entries
        ]

    def _settle(self, cluster: str) -> None:
        """Context and lookup of a cluster; its nodes' hardware is read first only where it has to tell the SKU."""
        agreed = self.contract.cluster(cluster) if self.contract else None
        votes = []
        if agreed is None or agreed["sku"] == "auto":
            for host in self.hosts:
                if host.cluster == cluster and host.member:
                    fact = evidence.facts_of(self.run_dir, self.run, host.name, ["inventory_audit"])["inventory_audit"]
                    votes.append((*detect(fact.data, self.standards.profiles), vendor_of(fact.data)))
        tier = self.contract.tier if self.contract else None
        context, reason = settle(votes, agreed, tier, self.definition["id"], self.standards.profiles)
        self.contexts[cluster] = context
        scoped = self.scoped[cluster] = {check.id: check.scoped(context) for check in self.checks}
        self.needed[cluster] = {check.concern for check in self.checks if check.scope == "node" and scoped[check.id] is None}
        reason = reason if reason.startswith("no profile") or not reason else f"no profile: {reason}"
        self.lookups[cluster] = Lookup(self.standards, self.contract, cluster, context["sku"], reason, self.started_at)

    def card(self, generated_at: str | None) -> dict:
        self.hosts = shares.judge_hosts(self, self.hosts)
        for check, group in self.groups.values():
            for hosts, judged, path, blame in group.results():
                self.tally.add_group(check, group.cluster, hosts, judged, path, blame)
        nodes = [host for host in self.hosts if host.member]
        self._judge_run(nodes)
        cards = [tallies.card(check, self.tally) for check in self.checks]
        coverage = rollup.coverage(self.tally, nodes, self.contract, cards, self._left_out())
        run, contract = self.run, self.contract
        plots = [plot for host in self.hosts for plot in host.plots]
        return {
            "schema": SCHEMA,
            "run_id": run["run_id"],
            "generated_at": generated_at or datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "decision": decide(
                self.definition, cards, coverage, rollup.delivery(nodes, contract), self.phases, self.notes + self._changed()
            ),
            "definition": {"id": self.definition["id"], "title": self.definition["title"]},
            "contract": contract
            and {
                **{key: contract.data.get(key) for key in ("id", "title", "tier", "agreed_date", "walk_away_date")},
                "path": self._contract_path(),
                "sha256": contract.sha256,
            },
            "standards": {"sha256": self.standards.sha256},
            "run": {
                **{key: run.get(key) for key in ("started_at", "operator", "controller", "depth", "risk", "concerns")},
                "phases": self.phases,
                "inventory": {key: run["inventory"].get(key) for key in ("path", "sha256")},
            },
            "coverage": coverage,
            "clusters": rollup.cluster_cards(self.tally, nodes, self.contexts),
            "hosts": rollup.host_cards(self.tally, nodes),
            "checks": cards,
            "causes": rollup.causes(cards),
            **({"recipes": recipes} if (recipes := self.recipes()) else {}),
            **({"plots": plots} if plots else {}),
        }

    def recipes(self) -> list:
        """The golden recipe of each cluster, as far as its nodes' facts give one."""
        hosts = {cluster: names for cluster, names in self.members.items() if names}

        def view(cluster, host):
            rest = (self.lookups[cluster], self.started_at, self.run_dir, self.run, hosts[cluster])
            return analysis.View(self.standards, self.contexts[cluster], {"host": host}, *rest)

        return recipe.for_clusters(hosts, view)

    def _phase(self, phase: dict) -> dict:
        """A phase as it turned out: planned is not run, and evidence is what shows it."""
        if phase.get("status") != "planned":
            return phase
        if any(next((self.run_dir / "facts").glob(f"*/{concern}.json"), None) for concern in phase.get("concerns") or ()):
            return {**phase, "status": "ran"}
        return {**phase, "status": "not_run", "reason": "planned, and nothing came back from it"}

    def _contract_path(self) -> str:
        """Where the contract is from: the run keeps a copy of its own."""
        began = self.run.get("contract") or {}
        return began.get("path") or self.contract.path if began.get("sha256") == self.contract.sha256 else self.contract.path

    def judge_host(self, host: rollup.Host) -> None:
        context, lookup = self.contexts[host.cluster], self.lookups[host.cluster]
        facts = evidence.facts_of(self.run_dir, self.run, host.name, self.concerns)
        host.replayed |= any(fact.envelope.get("mode") == "replay" for fact in facts.values())
        host.reachable = any(fact.envelope and not fact.unreachable for fact in facts.values())
        host.reasons = {concern: fact.reason for concern, fact in facts.items() if fact.data is None}
        known = {concern: self._data(fact, context, lookup, host.cluster, facts) for concern, fact in facts.items()}
        host.plots = [
            {"concern": concern, "cluster": host.cluster, "owner": "cluster" if facts[concern].of_cluster else host.name, **plot}
            for concern, (data, _) in known.items()
            for plot in (data or {}).get("plots") or ()
        ]
        host.tested = all(facts[concern].data is not None for concern in self.needed[host.cluster])
        blames = {concern: _blame(fact) for concern, fact in facts.items()}
        for check in self.checks:
            fact, (data, reason) = facts[check.concern], known[check.concern]
            if check.scope == "node":
                if host.member:
                    settled = self.scoped[host.cluster][check.id]
                    self.tally.add_host(check, host.name, settled or self._judge(check, data, reason, lookup, blames[check.concern]))
            elif check.scope != "run" and (host.member or fact.of_cluster):
                self._group(check, host).add(host.name, data, reason, blames[check.concern], host.member, fact.of_cluster)

    def _data(self, fact: evidence.Fact, context: dict, lookup: Lookup, cluster: str, own: dict) -> tuple[dict | None, str]:
        """The data with what the analysis adds, or None and the reason."""
        hosts = self.members.get(cluster, ())
        view = analysis.View(self.standards, context, fact.envelope, lookup, self.started_at, self.run_dir, self.run, hosts, own)
        try:
            return analysis.enrich(fact.concern, fact.data, view), fact.reason
        except Exception as error:  # a bug of ours must not pass for a finding, nor hide the other concerns
            return None, f"the judge's analysis of {fact.concern} failed: {type(error).__name__}: {error}"

    @staticmethod
    def _judge(check: Check, data, reason: str, lookup: Lookup, blame: str) -> Judged:
        try:
            wanted = lookup.of(check.data)
            return Judged("not_measured", wanted=wanted, reason=reason) if data is None else check.judge(data, wanted, reason or blame)
        except Exception as error:  # as above
            return Judged("not_measured", reason=f"the judge failed at this check: {type(error).__name__}: {error}")

    def _group(self, check: Check, host: rollup.Host) -> Group:
        return self._group_at(check, host.cluster, host.rack if check.scope == "rack" else None)

    def _group_at(self, check: Check, cluster: str, rack: str | None) -> Group:
        key = (check.id, cluster, rack)
        if key not in self.groups:
            wanted = self.lookups[cluster].of(check.data)
            title = f"cluster {cluster}" if rack is None else f"rack {rack} of {cluster}"
            self.groups[key] = (check, Group(check, title, cluster, self.scoped[cluster][check.id], wanted))
        return self.groups[key][1]

    def groups_here(self) -> dict:
        """What the groups hold, in a form that can leave this process."""
        return {key: (group.hosts, group.readings, group.owners) for key, (_, group) in self.groups.items()}

    def join_groups(self, others: dict) -> None:
        """Take in what another process read for the groups."""
        checks = {check.id: check for check in self.checks}
        for key, (hosts, readings, owners) in others.items():
            group = self._group_at(checks[key[0]], *key[1:])
            group.hosts += hosts
            group.readings |= readings
            group.owners += owners

    def _judge_run(self, nodes: list[rollup.Host]) -> None:
        """Checks of the run itself: how old its tables are, how many of its hosts answered."""
        tables = {
            name: {
                "as_of": table["as_of"],
                "age_days": age_days(table["as_of"], self.started_at),
                "sha256": self.standards.digests[f"baselines/{name}"],
                "max_age_days": _plain(table.get("max_age_days")),
            }
            for name, table in self.standards.baselines.items()
        }
        hosts = {"listed": len(nodes), **{key: sum(getattr(host, key) for host in nodes) for key in ("reachable", "tested", "replayed")}}
        context = {"definition": self.definition["id"], "tier": (self.contract and self.contract.tier) or "none"}
        lookup = Lookup(self.standards, self.contract, "", None, "the run as a whole has no SKU", self.started_at)
        for check in self.checks:
            if check.scope == "run":
                self.tally.add_run(check, check.scoped(context) or self._judge(check, {"tables": tables, "hosts": hosts}, "", lookup, ""))

    def _left_out(self) -> list[dict]:
        """Concerns that there are checks of, and that this verdict is not about."""
        others = dict.fromkeys(check["concern"] for check in self.standards.checks if check["concern"] not in self.concerns)
        return [{"concern": concern, "reason": f"not part of the definition {self.definition['id']}"} for concern in others]

    def _changed(self) -> list[str]:
        """Standards or a contract other than those that the run began with: no shopping for thresholds unseen."""
        began = [("standards", self.run.get("standards"), self.standards.sha256)]
        began.append(("contract", self.run.get("contract"), self.contract.sha256 if self.contract else "none"))
        return [
            f"{name} not as when the run began: sha256 {before['sha256'][:12]} then, {now[:12]} now"
            for name, before, now in began
            if before and before.get("sha256") and before["sha256"] != now
        ]


def _plain(entry):
    return entry.get("value") if isinstance(entry, dict) else entry


def _blame(fact: evidence.Fact) -> str:
    """What the node said it could not read, for the reason of a value that is not there."""
    messages = [str(error.get("message", ""))[:160] for error in fact.envelope.get("errors") or () if isinstance(error, dict)]
    return "the node: " + "; ".join(messages[:2]) if fact.status == "partial" and messages else ""
