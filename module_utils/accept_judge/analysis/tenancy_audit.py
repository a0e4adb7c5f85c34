"""What the rights and counts of a head amount to for its tenants, and what the provider has put in writing of what nobody sees there.

right_<what>: may we do this to others in Kubernetes? null, with a reason, where the answer would be an administrator's or is not complete.
"""

from __future__ import annotations

from ..attested import attested

# question -> (verbs that matter, resource)
QUESTIONS = {
    "nodes_proxy": (("get", "create"), "nodes/proxy"),
    "secrets": (("get", "list", "watch"), "secrets"),
    "pods_exec": (("create", "get"), "pods/exec"),
    "pods_read": (("get", "list", "watch"), "pods"),
    "pods_create": (("create",), "pods"),
    "impersonate": (("impersonate",), "users"),
}
ADMINISTRATORS = ("system:masters", "kubeadm:cluster-admins")
EVIDENCE = ("ufm_secure_profile", "nvlink_domain_exclusive", "bmc_network")


def analyse(data: dict, run) -> dict:
    """See the module's docstring; slurm_* and kubernetes_* are the counts, with reasons."""
    found = {**_slurm(data["slurm"]), **_kubernetes(data["kubernetes"])}
    for what in EVIDENCE:
        found.update(attested(run, what))
    return found


def _told(name, value, reason) -> dict:
    return {name: value} if value is not None else {name: None, name + "_reason": reason}


def _slurm(found) -> dict:
    keys = {"slurm_private": "private_data", "slurm_jobs_of_others": "jobs_of_others", "slurm_records_of_others": "records_of_others"}
    if not isinstance(found, dict):
        return {part: value for name in keys for part, value in ((name, None), (name + "_reason", "Slurm's tools are not on the head"))}
    return {part: value for name, key in keys.items() for part, value in _told(name, found[key], "").items() if value != ""}


def _kubernetes(found) -> dict:
    names = [*("right_" + what for what in QUESTIONS), "namespaces_visible_count", "pod_security_level"]
    why = "kubectl is not on the head" if found == "none" else "" if found else "the API server did not tell our rights"
    if why:
        return {part: value for name in names for part, value in ((name, None), (name + "_reason", why))}
    admin = _administrator(found)
    rights = {}
    for what, (verbs, resource) in QUESTIONS.items():
        may = any(_allows(rule, verbs, resource) for rule in found["rules"])
        unsure = "" if may or not found["incomplete"] else "the API server says that its list of our rights is not complete"
        rights.update(_told("right_" + what, None if admin or unsure else may, admin or unsure))
    seen = None if admin else found["namespaces_visible"]
    rights.update(_told("namespaces_visible_count", seen, admin or "the namespaces could not be asked for"))
    level = found["pod_security"]
    no_label = "our namespace has no pod security level; show what else refuses a privileged pod there"
    rights.update(
        _told(
            "pod_security_level",
            None if level == "none" else level,
            no_label if level == "none" else "the labels of our namespace could not be read",
        )
    )
    return rights


def _administrator(found) -> str:
    """Why these credentials say nothing of tenants; empty where they may be a tenant's."""
    group = next((name for name in found["groups"] or () if name in ADMINISTRATORS), "")
    if group:
        return f"asked with an administrator's credentials ({group}); give the head a tenant's kubeconfig"
    everything = any(rule["resources"] == "*.*" and "*" in rule["verbs"] for rule in found["rules"])
    return "asked with credentials that may do everything; give the head a tenant's kubeconfig" if everything else ""


def _allows(rule, verbs, resource) -> bool:
    kind, _, part = resource.partition("/")
    named = rule["resources"] in (resource, "*", "*.*") or (part and rule["resources"] in ("*/" + part, kind + "/*"))
    return bool(named) and bool({"*", *verbs} & set(rule["verbs"]))
