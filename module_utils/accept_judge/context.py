"""The context of each cluster: what it is said to be by the contract, else what its nodes show."""

from __future__ import annotations

from collections import Counter

NO_GPU = "no GPU was seen"


def detect(data: dict | None, profiles: dict) -> tuple[str | None, str]:
    """(SKU, "") of a node by the names and memory of its GPUs, or (None, why not). A name without profile comes back in the reason."""
    gpus = (data or {}).get("gpus")
    if not isinstance(gpus, list):
        return None, "the node's GPUs were not measured"
    seen = Counter((gpu.get("name"), gpu.get("memory_mib")) for gpu in gpus if isinstance(gpu, dict) and gpu.get("name"))
    if not seen:
        return None, "the names of its GPUs were not measured" if gpus else NO_GPU
    (name, memory_mib), _ = seen.most_common(1)[0]
    fitting = [sku for sku, profile in profiles.items() if name in profile["smi_names"]]
    if len(fitting) > 1 and memory_mib:
        fitting = [sku for sku in fitting if _near(memory_mib, profiles[sku]["values"].get("gpu.memory_mib", {}).get("value"))]
    if len(fitting) == 1:
        return fitting[0], ""
    if fitting:
        return None, f"{name!r} fits several profiles ({', '.join(sorted(fitting))}): name the SKU in the contract"
    return None, f"no profile for SKU {name!r}: add standards/profiles/{slug(name)}.yml"


def slug(name: str) -> str:
    """A file name for a GPU's name."""
    return "_".join("".join(letter if letter.isalnum() else " " for letter in name.lower()).split())


def _near(actual, wanted) -> bool:
    """The memory of a part, to tell two of one name apart; judging it is the checks' business."""
    return wanted is None or abs(actual - wanted) <= wanted / 50


def vendor_of(data: dict | None) -> str | None:
    """Whose GPUs a node has: as the collector says, else as their names say."""
    data = data or {}
    if data.get("vendor") in ("nvidia", "amd"):
        return data["vendor"]
    names = [str(gpu.get("name") or "").upper() for gpu in data.get("gpus") or () if isinstance(gpu, dict)]
    vendors = {"nvidia" if "NVIDIA" in name else "amd" if "AMD" in name or "INSTINCT" in name else None for name in names}
    return vendors.pop() if len(vendors) == 1 else None


def settle(
    votes: list[tuple[str | None, str, str | None]], contract_cluster: dict | None, tier, definition: str, profiles: dict
) -> tuple[dict, str]:
    """(context of a cluster, why it has no profile or "").

    `votes` are (SKU, reason, vendor) of its nodes. All nodes of a cluster are judged as one SKU, that of the majority: a node whose
    GPUs have vanished is not a node without GPUs.
    """
    sku, reason = _elect(votes)
    if contract_cluster and contract_cluster["sku"] != "auto":
        sku, reason = contract_cluster["sku"], ""
    profile = profiles.get(sku, {})
    vendors = {vendor for _, _, vendor in votes if vendor}
    context = {
        "sku": sku,
        "vendor": profile.get("vendor") or (vendors.pop() if len(vendors) == 1 else None),
        "form": profile.get("form"),
        "platform": profile.get("platform"),
        "transport": contract_cluster["transport"] if contract_cluster else None,
        "scheduler": contract_cluster["scheduler"] if contract_cluster else None,
        "tenancy": (contract_cluster or {}).get("tenancy", "shared"),  # others may be there unless the contract says that nobody is
        "tenant_access": (contract_cluster or {}).get("tenant_access"),
        "attestations": (contract_cluster or {}).get("attestations", {}),  # for the analysis: what the provider has put in writing
        "tier": tier or "none",
        "definition": definition,
    }
    return context, reason


def _elect(votes) -> tuple[str | None, str]:
    counts = Counter(sku for sku, _, _ in votes if sku)
    ranking = counts.most_common()
    if len(ranking) > 1 and ranking[0][1] == ranking[1][1]:
        shown = ", ".join(f"{sku} on {count}" for sku, count in sorted(ranking))
        return None, f"the nodes show different SKUs ({shown}): name the SKU in the contract"
    reasons = Counter(reason for _, reason, _ in votes if reason)
    unknown = Counter({reason: count for reason, count in reasons.items() if reason.startswith(("no profile", "'"))})
    if ranking and (not unknown or ranking[0][1] > max(unknown.values())):
        return ranking[0][0], ""
    chosen = (unknown or reasons).most_common(1)
    return None, chosen[0][0] if chosen else "the cluster has no nodes"
