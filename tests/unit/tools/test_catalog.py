"""tools/catalog: facts in, catalogue out; the same facts give the same bytes, and facts of another shape one line."""

from __future__ import annotations

import pytest
import yaml

XID = {
    "meta": {"what": "codes", "as_of": "2026-08", "disagreements": []},
    "sources": {"catalog": "https://example.org/table"},
    "log_formats": [{"name": "classic", "format": "NVRM: Xid", "source": "driver"}],
    "combinations": [],
    "driver_last_code": [{"driver": "580", "last": 172}],
    "driver_last_code_source": "driver",
    "xids": [
        {
            "code": 79,
            "mnemonic": "LOST",
            "meaning": "lost",
            "action": "reboot_node",
            "severity": "critical",
            "drain": "yes",
            "source": "catalog",
        },
        {
            "code": 94,
            "mnemonic": "CONTAINED",
            "meaning": "contained",
            "action": "restart_app",
            "severity": "warning",
            "drain": "no",
            "source": "catalog",
            "gpud": {"event": "Fatal", "actions": ["RebootSystem"]},
        },
    ],
    "nvlink5_decode": {
        "how": "masks",
        "source": "catalog",
        "rows": [
            {
                "xid": 145,
                "unit": "RLW_RXPIPE",
                "error_status": ["0x00000001"],
                "intrinfo_lt_r575": "-" * 32,
                "intrinfo_ge_r575": "-" * 31 + "1",
                "severity": "Non-fatal",
                "action": "IGNORE",
                "action2": {"intrinfo_lt_r575": "1" * 32, "intrinfo_ge_r575": "0" * 32, "action": "RESET_GPU"},
            }
        ],
    },
}
SXID = {
    "meta": {"what": "codes", "confidence_note": "none"},
    "sources": {"driver": "https://example.org/driver"},
    "rules": [{"rule": "kept", "source": "driver"}, {"rule": "of no named source", "source": "heard"}],
    "log_formats": [{"name": "link", "source": "driver"}],
    "sxids": [
        {"code": 20034, "name": "FAULT_UP", "nvswitch3_h100": {"class": ["fatal"], "text": ["LTSSM Fault Up"]}, "source": "driver"},
        {"code": 12020, "name": "SEQID", "fabric_manager_guide": {"class": "always_fatal", "name": "x"}, "source": "driver"},
        {"code": 10007, "name": "IO", "emitted_by_current_driver": False, "source": "driver"},
    ],
}


@pytest.fixture
def made(tool, tmp_path):
    """Facts -> (exit status, the catalogue's text)."""

    def make(facts, kind):
        path = tmp_path / "facts.yaml"
        path.write_text(facts if isinstance(facts, str) else yaml.safe_dump(facts))
        status = tool("catalog").main([str(path), "--out", str(tmp_path), "--date", "2026-11-30"])
        out = tmp_path / f"{kind}.yml"
        return status, out.read_text() if out.exists() else ""

    return make


def test_xids(made):
    status, text = made(XID, "xid")
    catalog = yaml.safe_load(text)
    assert status == 0
    assert "facts.yaml (sha256 " in text.splitlines()[0]
    assert "2026-11-30" in text.splitlines()[0]
    assert [(entry["code"], entry["class"], entry["drain"]) for entry in catalog["xids"]] == [
        (79, "hardware", "yes"),
        (94, "contained", "when_idle"),
    ]
    assert catalog["xids"][1]["disagreements"] == ["gpud: fatal, RebootSystem"]
    assert [row["action"] for row in catalog["nvlink5_decode"]["rows"]] == ["IGNORE", "RESET_GPU"]
    assert made(XID, "xid")[1] == text


def test_sxids(made):
    catalog = yaml.safe_load(made(SXID, "sxid")[1])
    assert {entry["code"]: entry["class"] for entry in catalog["sxids"]} == {20034: "fatal", 12020: "always_fatal", 10007: "not_emitted"}
    assert [rule["rule"] for rule in catalog["rules"]] == ["kept"]


@pytest.mark.parametrize("facts", ["a: [", "[]", {"xids": []}, {**XID, "xids": [{**XID["xids"][0], "drain": "perhaps"}]}])
def test_other_facts_write_nothing(made, capsys, facts):
    assert made(facts, "xid") == (2, "")
    error = capsys.readouterr().err
    assert error.startswith("catalog: ")
    assert error.count("\n") == 1
