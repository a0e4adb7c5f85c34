"""From rows to the verdict: rejected beats incomplete beats accepted; an exception is named; a replayed host makes it a demonstration."""

from __future__ import annotations

from . import nodesets
from .evaluate import FAILED
from .rollup import SEVERITIES

EXIT_CODES = {"accepted": 0, "accepted_with_exceptions": 0, "rejected": 10, "incomplete": 11}
NO_VERDICT = 13


class NoVerdict(ValueError):
    """There is nothing that a verdict could rest on."""


def decide(definition: dict, cards: list[dict], coverage: dict, delivery: dict, phases: list[dict], notes: list[str]) -> dict:
    """{verdict, exit_code, demonstration, reasons}. `delivery` is rollup's; `notes` are findings that no row has, and only inform."""
    scored = sum(card["counts"].get(verdict, 0) for card in cards for verdict in ("pass", "warn", "fail", "waived"))
    if not scored:
        raise NoVerdict("not one check could be scored: " + _first_reason(cards))
    rejecting = _lines(cards, FAILED, definition["reject"], "failed")
    lacking = _lines(cards, ("not_measured",), definition["incomplete"], "not measured") + _gaps(definition, cards, delivery, phases)
    demonstration = coverage["replayed_hosts"] > 0
    if demonstration:  # captures say what machines answered once; nobody can accept a machine by them
        replayed = f"{coverage['replayed_hosts']} of {coverage['nodes']['listed']} nodes are replayed from captures"
        lacking.insert(0, f"a demonstration: {replayed}; nothing is accepted by it")
    others = [severity for severity in definition["exceptions"] if severity not in definition["reject"]]
    unread = [severity for severity in definition["exceptions"] if severity not in definition["incomplete"]]
    exceptions = _lines(cards, FAILED, others, "failed") + _lines(cards, ("not_measured",), unread, "not measured")
    exceptions += _lines(cards, ("waived",), SEVERITIES, "waived")
    verdict = "rejected" if rejecting else "incomplete" if lacking else "accepted_with_exceptions" if exceptions else "accepted"
    reasons = rejecting + lacking + exceptions + notes
    return {"verdict": verdict, "exit_code": EXIT_CODES[verdict], "demonstration": demonstration, "reasons": reasons}


def _lines(cards: list[dict], verdicts, severities, word: str) -> list[str]:
    """One line for each severity: how many rows, on which nodes, of which checks."""
    lines = []
    for severity in SEVERITIES:
        if severity not in severities:
            continue
        hit = [(card, row) for card in cards if card["severity"] == severity for row in card["rows"] if row["verdict"] in verdicts]
        if hit:
            nodes = frozenset().union(*(nodesets.unfold(row["nodes"]) for _, row in hit if row["nodes"]))
            names = list(dict.fromkeys(card["id"] for card, _ in hit))
            shown = ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
            lines.append(
                f"{severity}: {len(names)} check{'s' * (len(names) > 1)} {word}"
                + (f" on {nodesets.fold(nodes)}" if nodes else "")
                + f": {shown}"
            )
    return lines


def _gaps(definition: dict, cards: list[dict], delivery: dict, phases: list[dict]) -> list[str]:
    """What the definition asks for and the run does not have."""
    minimum, gaps = definition["coverage"]["tested_pct"]["value"], []
    for name, share in delivery.items():
        if share["tested"] * 100 < minimum * share["delivered"]:
            gaps.append(
                f"coverage: {share['tested']} of {share['delivered']} nodes delivered in cluster {name} tested in full, {minimum} % wanted"
            )
    by_name = {phase.get("name"): phase for phase in phases}
    for name in definition["phases"]:
        phase = by_name.get(name, {})
        if phase.get("status") != "ran":
            gaps.append(f"phase {name} was not run: {phase.get('reason') or phase.get('status') or 'it is not in the plan of this run'}")
    judged = {card["concern"] for card in cards}
    wanted = definition["concerns"] if definition["concerns"] != "all" else ()
    return gaps + [f"concern {concern}: there is no check of it" for concern in wanted if concern not in judged]


def _first_reason(cards: list[dict]) -> str:
    reasons = [row["reason"] for card in cards for row in card["rows"] if row["reason"]]
    return reasons[0] if reasons else "no check applies" if cards else "there are no checks"
