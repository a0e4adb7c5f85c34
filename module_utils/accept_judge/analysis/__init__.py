"""The judge's analysis step, by concern: fields that need catalogues or standards, merged into the data before checks read it.

`analyse(data, run) -> dict` of a concern's module returns further top-level keys. `run` is a View. A module may also have
`without_data(run) -> dict | None`: what is known about a host whose envelope holds nothing.
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..evidence import Fact, facts_of


@dataclass(frozen=True)
class View:
    """What an analysis step may look at beside the data of the host."""

    standards: Any  # Standards; catalogs["xid"] and baselines["versions"] are the YAML documents
    context: dict  # sku, vendor, transport, ... of the host; None is unknown
    envelope: dict
    wanted: Any  # Lookup of the host's cluster: wanted.key("gpu.count") -> Wanted
    started_at: datetime.datetime
    run_dir: Path  # attachments stand below it
    run: dict | None = None  # run.json
    hosts: tuple = ()  # names of the nodes of the same cluster, itself among them
    own: dict = field(default_factory=dict)  # concern -> Fact of the host itself, as far as they were read already

    def fact(self, host: str, concern: str) -> Fact:
        """What another node of the cluster said in this run: for what the head tells of nodes, and the nodes of themselves."""
        if concern in self.own and host == self.envelope.get("host"):
            return self.own[concern]
        return facts_of(self.run_dir, self.run, host, [concern])[concern]


def module_of(name):
    """The analysis module of a concern, or None. Import statements that AnsiballZ can see: it ships no others."""
    try:
        if name == "preflight":
            from . import preflight as module
        elif name == "version_audit":
            from . import version_audit as module
        elif name == "inventory_audit":
            from . import inventory_audit as module
        elif name == "boot":
            from . import boot as module
        elif name == "scheduler_audit":
            from . import scheduler_audit as module
        elif name == "gid_check":
            from . import gid_check as module
        elif name == "roce_config":
            from . import roce_config as module
        elif name == "ib_config":
            from . import ib_config as module
        elif name == "health_audit":
            from . import health_audit as module
        elif name == "cabling":
            from . import cabling as module
        elif name == "ib_fabric":
            from . import ib_fabric as module
        elif name == "isolation_audit":
            from . import isolation_audit as module
        elif name == "tenancy_audit":
            from . import tenancy_audit as module
        elif name == "monitoring_audit":
            from . import monitoring_audit as module
        elif name == "tenancy_probe":
            from . import tenancy_probe as module
        elif name == "nccl_recipe":
            from . import nccl_recipe as module
        elif name == "rdma_bandwidth":
            from . import rdma_bandwidth as module
        elif name == "nccl_sweep":
            from . import nccl_sweep as module
        elif name == "mgmt_network":
            from . import mgmt_network as module
        elif name == "gpu_compute":
            from . import gpu_compute as module
        elif name == "burn_in":
            from . import burn_in as module
        else:
            return None
    except ImportError as error:
        if f"'{name}'" not in str(error):
            raise  # the module is there, and something that it needs is not
        return None  # this concern has nothing to derive
    return module


_cache: dict = {}


def enrich(concern: str, data: dict | None, view: View) -> dict | None:
    """The data with what the analysis adds. It adds: what the node said is never replaced."""
    if concern not in _cache:
        _cache[concern] = module_of(concern)
    module = _cache[concern]
    if module is None:
        return data
    if data is None:
        return module.without_data(view) if hasattr(module, "without_data") else None
    extra = module.analyse(data, view) or {}
    clash = sorted(key for key in extra if key in data)
    if clash:
        raise ValueError(f"analysis of {concern}: {', '.join(clash)} would replace what the node said")
    return {**data, **extra}
