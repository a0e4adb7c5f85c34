"""Small fleets and events of a month, for hand-worked cases."""

from __future__ import annotations

import json
from pathlib import Path

import yaml
from accept_judge.sla import definitions, review

STANDARDS = Path(__file__).resolve().parents[3] / "standards"
LOADED = definitions.load(STANDARDS)


class Desk:
    """Writes a review's file and ledgers, and reviews them."""

    def __init__(self, folder: Path):
        self.folder = folder

    def file(self, definition="hgx8", nodes=2, **changes) -> Path:
        names = [f"n{at}" for at in range(1, nodes + 1)]
        fees = {"control_plane": "100.00", "storage": "500.00", "fabric": "200.00"}
        cluster = {"name": "c1", "node_fee": "1000.00", "service_fees": fees, "racks": [{"name": "r1", "nodes": names}]}
        data = {"schema": 1, "id": "site-1", "title": "A site", "definition": definition, "tier": "gold", "timezone": "UTC",
                "currency": "EUR", "clusters": [cluster], **changes}  # fmt: skip
        path = self.folder / "review.yml"
        path.write_text(yaml.safe_dump(data))
        return path

    def ledger(self, rows, name="provider.json") -> Path:
        path = self.folder / name
        path.write_text(json.dumps(rows))
        return path

    def review(self, provider, customer=None, month="2026-11", as_of=None, **changes) -> dict:
        ledgers = {"provider": self.ledger(provider), "customer": None if customer is None else self.ledger(customer, "customer.json")}
        return review.build(self.file(**changes), STANDARDS, month, ledgers, as_of)

    def account(self, rows, **changes) -> dict:
        return self.review(rows, **changes)["ledgers"]["provider"]


def event(at, start, end, unit="n1", kind="down", level="node", **more) -> dict:
    return {"id": at, "level": level, "unit": unit, "kind": kind, "onset": start, "verified": end, **more}


def unit(account, name, level="node") -> dict:
    return next(row for row in account["units"] if (row["level"], row["name"]) == (level, name))
