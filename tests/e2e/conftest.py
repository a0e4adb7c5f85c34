"""Captures of clusters that the runs are about."""

from __future__ import annotations

import pytest
from acceptance_runs import simulate


@pytest.fixture(scope="session")
def healthy(tmp_path_factory):
    return simulate(tmp_path_factory.mktemp("healthy"))


@pytest.fixture(scope="session")
def faulty(tmp_path_factory):
    faults = [
        {"fault": "gpu_half_pcie_width", "hosts": "node-02"},
        {"fault": "unreachable", "hosts": "node-04"},
    ]
    return simulate(tmp_path_factory.mktemp("faulty"), faults)
