"""Optional fields of GPUs: what a platform does not tell is no finding; what one GPU of a node withholds is never passed over."""

from __future__ import annotations

import pytest
from accept_judge.analysis import inventory_audit
from accept_judge.evaluate import Check
from accept_judge.wanted import Wanted

CHECK = {
    "id": "inventory.gpu_recovery_action",
    "concern": "inventory_audit",
    "scope": "node",
    "severity": "blocker",
    "each": "gpus_telling.recovery_action",
    "label": "pci",
    "empty": "not_applicable",
    "value": "recovery_action",
    "op": "eq",
    "want": "none",
}


def gpu(action, reason=None):
    return {"pci": "0000:1b:00.0", "recovery_action": action, **({"recovery_action_reason": reason} if reason else {})}


@pytest.mark.parametrize(
    ("gpus", "verdict"),
    [
        ([gpu("none"), gpu("none")], "pass"),
        ([gpu("none"), gpu("Reboot")], "fail"),
        ([gpu("none"), gpu(None, "nvidia-smi printed N/A")], "not_measured"),
        ([gpu("none"), gpu(None)], "not_measured"),
        ([gpu(None, "nvidia-smi printed N/A")] * 2, "not_applicable"),
        ([gpu(None, "nvidia-smi printed ERR!")] * 2, "not_measured"),
        ([], "not_applicable"),
        (None, "not_measured"),
    ],
)
def test_a_gpu_that_does_not_say_is_not_passed_over(gpus, verdict):
    data = {"gpus": gpus}
    assert Check(CHECK).judge({**data, **inventory_audit.analyse(data, None)}, Wanted("none")).verdict == verdict
