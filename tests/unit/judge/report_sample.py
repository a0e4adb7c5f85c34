"""Scorecards to render: the sample of tests/fixtures/report, and synthetic ones of any size."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures" / "report"
TEMPLATES = Path(__file__).resolve().parents[3] / "roles" / "sla_score" / "templates"
WORST_LAST = ["not_applicable", "pass", "waived", "warn", "not_measured", "fail"]


def sample() -> dict:
    """Four HGX B200 nodes in two racks and one GB300 NVL72 rack of 18 trays, with faults of the field."""
    return json.loads((FIXTURES / "scorecard.json").read_text(encoding="utf-8"))


def row(verdict, nodes, count=1, actual=None, items=(), reason="", concern="boot") -> dict:
    return {
        "verdict": verdict,
        "nodes": nodes,
        "count": count,
        "actual": actual,
        "wanted": 16,
        "wanted_from": "profile gb300_nvl72",
        "items": [{"label": label, "actual": value} for label, value in items],
        "reason": reason,
        "evidence": "facts/{host}/%s.json" % concern,
        "waiver": None,
    }


def synthetic(hosts=1000, checks=150, concerns=12, odd_every=70) -> dict:
    """A large cluster in racks of 18: in each check one host in `odd_every` fails with a value of its own, one in 97 is unreachable."""
    names = [f"node-{i:04d}" for i in range(hosts)]
    lost = set(names[11::97])
    seen = {name: {} for name in names}
    cards = []
    for number in range(checks):
        concern, severity = f"concern_{number % concerns}", ("blocker", "major", "minor", "info")[number % 4]
        bad = "fail" if number % 4 < 2 else "warn"
        odd = [n for i, n in enumerate(names) if (i * 31 + number * 17) % odd_every == 0 and n not in lost]
        rows = [row(bad, n, 1, f"value {n}", [(f"GPU {number % 4}", f"serial 16{i:06d}")], concern=concern) for i, n in enumerate(odd)]
        rows += [row("not_measured", ",".join(sorted(lost)), len(lost), reason="unreachable: no answer on port 22", concern=concern)]
        fine = [n for n in names if n not in lost and n not in odd]
        rows += [row("pass", ",".join(fine), len(fine), 16, concern=concern)] if fine else []
        for name in names:
            verdict = "not_measured" if name in lost else bad if name in odd else "pass"
            seen[name].setdefault(concern, []).append(verdict)
        cards.append(
            {
                "id": f"{concern}.subject_{number:03d}",
                "title": f"Property {number} is as contracted",
                "concern": concern,
                "scope": "node",
                "severity": severity,
                "cause": f"cause_{number % 20}",
                "remedy": "Reseat, replace or configure the part, then audit the node again.",
                "sla": [],
                "source": "none, it is synthetic",
                "counts": {bad: len(odd), "not_measured": len(lost), "pass": len(fine)},
                "rows": rows,
            }
        )
    return _card(names, lost, seen, cards)


def _card(names, lost, seen, checks) -> dict:
    hosts = []
    for number, name in enumerate(names):
        concerns = {concern: max(verdicts, key=WORST_LAST.index) for concern, verdicts in seen[name].items()}
        hosts.append(
            {
                "name": name,
                "cluster": "large",
                "rack": f"rack-{number // 18:03d}",
                "mode": "live",
                "reachable": name not in lost,
                "worst": max(concerns.values(), key=WORST_LAST.index),
                "counts": dict(Counter(verdict for verdicts in seen[name].values() for verdict in verdicts)),
                "concerns": concerns,
            }
        )
    racks = [
        {"name": rack, "nodes": sum(h["rack"] == rack for h in hosts), "worst": "fail", "counts": {"fail": 1}, "bad_nodes": ""}
        for rack in dict.fromkeys(h["rack"] for h in hosts)
    ]
    card = sample()
    card["decision"] |= {"demonstration": False, "reasons": ["blockers failed"]}
    card["coverage"] |= {"replayed_hosts": 0, "live_hosts": len(names)}
    card["run"]["concerns"] = list(dict.fromkeys(check["concern"] for check in checks))
    cluster = {"name": "large", "sku": "gb300_nvl72", "platform": None, "nodes": len(names), "worst": "fail", "counts": {}, "racks": racks}
    cause = {"cause": "cause_0", "severity": "blocker", "rows": 8, "nodes": names[0], "remedy": "Repair it.", "checks": [checks[0]["id"]]}
    return card | {"clusters": [cluster], "hosts": hosts, "checks": checks, "causes": [cause]}
