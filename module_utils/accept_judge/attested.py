"""What no node can show, and the provider has put in writing: the contract's `attestations` of a cluster as fields for checks."""

from __future__ import annotations

ASKED = {
    "ufm_secure_profile": "the fabric manager's secured profile (own management keys, rate limits, allowed GUIDs): its configuration",
    "nvlink_domain_exclusive": "that no other tenant has trays in this NVLink domain: the partition table of its manager",
    "bmc_network": "that controllers (BMC) are on a network which no tenant reaches, and their accounts are changed between tenants",
    "nfs_exports": "that only this tenant's nodes reach the NFS exports that it mounts: the rules of the storage network",
    "dpu_host": "that the host cannot reach or reconfigure its DPU (mode, RShim from the host, firmware protection): the DPU's own query",
    "monitoring_dashboards": "its dashboards: failed component, affected jobs, state of the scheduler, age of each check, on live series",
    "monitoring_alerts": "its alert rules (GPU errors, lost GPU, node down, stale health check), and whom they reached when last tried",
    "vm_host": "the host below this virtual machine: kernel, QEMU, mitigations, IOMMU groups of what is passed through",
}


def attested(run, what: str) -> dict:
    """{what: "holds: ..." | "does not hold: ..." | None, what_reason}: an attestation is somebody's word, and says whose."""
    entry = (run.context.get("attestations") or {}).get(what)
    if not entry:
        return {
            what: None,
            what + "_reason": f"cannot be seen from here; ask the provider to show {ASKED[what]} (contract: attestations.{what})",
        }
    said = f"{entry['document']}{' sha256 ' + entry['sha256'][:12] if entry.get('sha256') else ''}, {entry['by']}, {entry['date']}"
    return {what: f"{'holds' if entry['holds'] else 'does not hold'}: {said}"}
