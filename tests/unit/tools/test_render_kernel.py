"""The kernel of a simulated node: healthy ones have no finding, faults show, and the data has its promised shape."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from accept_judge import documents, standards
from accept_judge.analysis import boot as analysis
from accept_node.collectors import boot
from accept_node.envelope import collect
from accept_node.node import RecordingNode, ReplayNode
from simulation import build, render


@pytest.fixture(scope="module")
def run(root):
    return SimpleNamespace(standards=standards.load(root / "standards"))


@pytest.fixture
def boots(spec):
    """Faults -> {host: envelope of the boot concern}; of one host alone where it is named."""

    def read(fault=None, only=None):
        spec["faults"] = [{"fault": fault, "hosts": only}] if fault else []
        nodes = [node for node in build.build(spec) if only in (None, node.name)]
        captures = {node.name: render.capture(node, build.recorded_at_s(spec)) for node in nodes}
        return {host: collect("boot", boot.collect, RecordingNode(ReplayNode(capture))) for host, capture in captures.items()}

    return read


def findings(envelope, run):
    facts = analysis.analyse(envelope["data"], run)
    assert None not in facts.values()
    return {name: value for name, value in facts.items() if isinstance(value, list) and value and name != "events"}


def test_healthy_nodes(boots, run, root):
    for host, envelope in boots().items():
        assert envelope["errors"] == []
        assert documents.validate(envelope["data"], root / "standards/schema/concerns/boot.json", host) == []
        assert findings(envelope, run) == {}, host
        assert envelope["data"]["kernel_log"]["records"] > 30
        assert envelope["data"]["snapshot"]["product_serial"]
        assert all(gpu["power_limit_w"] for gpu in envelope["data"]["snapshot"]["gpus"])


@pytest.mark.parametrize(
    ("fault", "found"),
    [
        ("xid_79", {"xids_hardware"}),
        ("gpu_fallen_off_bus", {"xids_hardware", "gpus_fallen_off"}),
        ("xid_94", {"xids_contained"}),
        ("xid_95", {"xids_hardware"}),
        ("xid_119", {"xids_hardware"}),
        ("xid_45_storm", {"xids_application"}),
        ("xid_13_user", {"xids_application"}),
        ("nvlink5_error", {"xids_hardware"}),
        ("oom", {"oom_system"}),
        ("aer_errors", {"pcie_uncorrected"}),
        ("mce", {"machine_checks"}),
        ("soft_lockup", {"lockups"}),
        ("mlx5_slot_power", {"nic_power"}),
        ("mlx5_link_flap", {"nic_link_downs"}),
        ("benign_lines", set()),
    ],
)
def test_faults_show(boots, run, root, fault, found):
    envelope = boots(fault, "b200-01")["b200-01"]
    assert set(findings(envelope, run)) == found
    assert documents.validate(envelope["data"], root / "standards/schema/concerns/boot.json", fault) == []


def test_without_root_the_log_is_not_measured(boots, run):
    data = boots("no_root", "b200-01")["b200-01"]["data"]
    facts = analysis.analyse(data, run)
    assert facts["xids_hardware"] is None
    assert "Operation not permitted" in facts["xids_hardware_reason"]
    assert data["snapshot"]["product_serial"] is None
