"""What hours of load show: each seeded fault by the checks that are for it and on no other node; a healthy cluster has no finding."""

from __future__ import annotations

import json

import jsonschema
import pytest
from accept_judge import burn_plan
from burn_run import ROOT, Burned

FAULTS = {
    "burn_slow_gpu": ({"gpu": 3}, {"slot", "slot_outlier"}),
    "burn_slow_node": ({}, {"node", "slot_outlier"}),
    "burn_thermal_throttle": ({"gpu": 1}, {"throttle", "temperature", "degradation", "clock_held", "slot", "slot_outlier"}),
    "burn_degrading_clock": ({"gpu": 2}, {"degradation", "clock_held", "slot_outlier"}),
    "burn_load_dip": ({"gpu": 4}, {"dip"}),
    "burn_wrong_result": ({"gpu": 5}, {"silent_corruption", "first_error"}),
    "burn_always_wrong": ({"gpu": 5}, {"same_result"}),
    "burn_ecc_growth": ({"gpu": 0, "uncorrected": 1}, {"ecc_corrected", "ecc_uncorrected"}),
    "burn_nvlink_errors": ({"gpu": 6}, {"nvlink_errors"}),
    "burn_power_lowered": ({"gpu": 7}, {"unchanged"}),
    "burn_xid": ({"gpu": 2}, {"kernel", "first_error"}),
    "burn_link_flap": ({"nic": 2}, {"link_stable", "port_errors"}),
    "burn_port_errors": ({"nic": 3}, {"port_errors"}),
    "burn_ends_early": ({}, {"ran", "loaded", "together", "sampled", "degradation", "dip", "exchange_held"}),
    "burn_blind": ({}, {"sampled"}),
    "burn_exchange_breaks": ({}, {"together", "first_error", "exchange_errors", "exchange_held"}),
    "burn_exchange_fades": ({}, {"exchange_held"}),
    "burn_exchange_wrong": ({}, {"exchange_wrong"}),
    "burn_soak_dip": ({}, {"soak_spread"}),
    "burn_soak_wrong": ({}, {"soak_faults"}),
}


@pytest.mark.parametrize("sku", ["b200_hgx", "gb300_nvl72", "h100_hgx"])
def test_a_healthy_cluster_has_no_finding(tmp_path, sku):
    burned = Burned(tmp_path, nodes=9, sku=sku)
    assert burned.found() == {}
    assert set(burned.verdicts(burned.nodes[0].name).values()) == {"pass"}


@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_is_found_on_its_node_alone(tmp_path, fault):
    given, checks = FAULTS[fault]
    burned = Burned(tmp_path, [{"fault": fault, "hosts": "b-02", **given}], nodes=9)
    found = burned.found()
    assert set(found) == {"b-02"}
    assert found["b-02"] == {f"burn_in.{check}" for check in checks}


@pytest.mark.parametrize(
    "near_miss",
    [
        {"fault": "burn_slow_gpu", "pct": 1.0},
        {"fault": "burn_degrading_clock", "pct": 1.5},
        {"fault": "burn_exchange_fades", "pct": 6.0},
        {"fault": "burn_soak_dip", "pct": 10.0},
        {"fault": "burn_slow_node", "pct": 1.0},
        {"fault": "burn_power_lowered", "watts": 1000.0},
    ],
    ids=lambda entry: entry["fault"],
)
def test_a_near_miss_is_no_finding(tmp_path, near_miss):
    assert Burned(tmp_path, [{"hosts": "b-02", **near_miss}], nodes=9).found() == {}


def test_the_cap_at_full_power_is_no_throttling(tmp_path):
    burned = Burned(tmp_path)
    device = burned.data["b-01"]["devices"][0]
    assert device["throttle_s"]["sw_power_cap"] > 3600
    assert burned.judged["b-01"]["judged"][0]["hard_throttle_s"] == 0


def test_slots_differ_and_that_is_no_finding(tmp_path):
    burned = Burned(tmp_path)
    heat = [device["temperature_c"]["mean"] for device in burned.data["b-01"]["devices"]]
    assert max(heat) - min(heat) > 4
    assert burned.found() == {}


def test_amd_says_nothing_of_reasons_and_does_not_pass_on_it(tmp_path):
    burned = Burned(tmp_path, sku="mi300x")
    verdicts = burned.verdicts("b-01")
    assert verdicts["burn_in.throttle"] == "not_measured"
    assert verdicts["burn_in.nvlink_errors"] == "not_applicable"
    assert verdicts["burn_in.silent_corruption"] == "pass"
    assert burned.found() == {}


def test_one_node_alone_has_no_peers_and_says_so(tmp_path):
    burned = Burned(tmp_path, nodes=1)
    verdicts = burned.verdicts("b-01")
    assert verdicts["burn_in.slot"] == verdicts["burn_in.node"] == verdicts["burn_in.temperature"] == "not_measured"
    assert verdicts["burn_in.slot_outlier"] == "not_applicable"
    assert verdicts["burn_in.same_result"] == "pass", "eight GPUs of one node are peers in their result"


def test_the_row_says_how_many_false_alarms_to_expect(tmp_path):
    burned = Burned(tmp_path, nodes=9)
    assert burned.judged["b-01"]["outliers"][0]["label"].endswith("8 peers, 0.097 false alarms expected of 72 devices")


def change(**values):
    def apply(every):
        for key, value in values.items():
            every["b-02"][key] = value

    return apply


def test_what_an_operator_stopped_is_not_measured(tmp_path):
    job = {"state": "ended", "reason": "stopped", "message": ""}
    burned = Burned(tmp_path, change=change(state="stopped", ran_s=312.0, job=job))
    assert burned.verdicts("b-02")["burn_in.ran"] == "not_measured"
    assert burned.judged["b-02"]["ran_pct_reason"] == "was stopped after 312 s of 28800 s"


def only_discovered(every):
    keep = ("devices_found", "engine", "python", "ready", "ready_reason", "boot_id_before", "limits_before")
    every["b-02"] = {key: every["b-02"][key] for key in keep}
    every["b-02"].update(job={"state": "absent", "reason": "", "message": ""}, boot_id_after=every["b-02"]["boot_id_before"])


def test_a_job_that_stop_yml_took_away_is_not_measured(tmp_path):
    burned = Burned(tmp_path, change=only_discovered)
    assert set(burned.verdicts("b-02").values()) == {"not_measured", "pass"}
    assert burned.verdicts("b-02")["burn_in.unchanged"] == "pass"
    assert "was stopped" in burned.judged["b-02"]["judged_reason"]


def test_a_node_that_restarted_has_failed(tmp_path):
    def restarted(every):
        only_discovered(every)
        every["b-02"]["boot_id_after"] = "another"

    verdicts = Burned(tmp_path, change=restarted).verdicts("b-02")
    assert verdicts["burn_in.ran"] == verdicts["burn_in.unchanged"] == "fail"


def test_unchecked_results_are_not_measured(tmp_path):
    def unchecked(every):
        for device in every["b-02"]["devices"]:
            device.update(mismatches=None, checksum=None)

    verdicts = Burned(tmp_path, change=unchecked).verdicts("b-02")
    assert verdicts["burn_in.silent_corruption"] == verdicts["burn_in.same_result"] == "not_measured"


def test_cores_are_no_gpus(tmp_path):
    burned = Burned(tmp_path, change=change(engine="cpu"))
    assert burned.judged["b-02"]["gpus_loaded"] == 0
    assert burned.verdicts("b-02")["burn_in.every_gpu"] == "fail"


def test_data_are_as_the_schema_says(tmp_path):
    schema = json.loads((ROOT / "standards/schema/concerns/burn_in.json").read_text())
    for sku in ("b200_hgx", "mi300x"):
        for data in Burned(tmp_path / sku, [{"fault": "burn_xid", "hosts": "b-01"}], nodes=2, sku=sku).data.values():
            jsonschema.validate(data, schema)
            assert len(json.dumps(data)) < 64 * 1024


# --- the plan -------------------------------------------------------------------------------------------------------------------------

SETTINGS = {
    "duration_s": 0, "soak_s": None, "warm_up_s": None, "rack_stagger_s": 10.0, "exchange": "cluster", "exchange_bytes": 0,
    "cap_mbps": 1000, "resolution_s": 1.0, "matrix": 0, "join_s": 300.0, "timeout_s": 120.0, "port": 29800, "slurm_job": "",
}  # fmt: skip


def plan(racks=2, nodes=4, depth="standard", refused=None, unready=(), **settings):
    hosts = {f"n{n}": {"cluster": "c", "rack": f"r{n * racks // nodes}", "address": f"10.0.0.{n}"} for n in range(nodes)}
    found = {"engine": "torch", "python": "/p", "ready": True, "devices_found": [{"name": f"gpu{n}", "slot": n} for n in range(8)]}
    facts = {name: {**found, **({"ready": False, "ready_reason": "no PyTorch"} if name in unready else {})} for name in hosts}
    return burn_plan.make("run", hosts, facts, {**SETTINGS, **settings}, depth, 1000.0, refused or {}), facts


def test_racks_follow_each_other_up_and_down():
    made, _ = plan(racks=4)
    own = {host: one["settings"] for host, one in made["hosts"].items()}
    assert [own[f"n{n}"]["offset_s"] for n in range(4)] == [0, 10, 20, 30]
    assert [own[f"n{n}"]["gemm_end_s"] - own[f"n{n}"]["offset_s"] for n in range(4)] == [28800] * 4
    assert {one["exchange_end_s"] for one in own.values()} == {28830}, "the all-to-all begins and ends for all at once"
    assert all(one["offset_s"] + one["warm_up_s"] >= 30 for one in own.values()), "judged only once all racks are loaded"
    assert [own[f"n{n}"]["first_rank"] for n in range(4)] == [0, 8, 16, 24]
    assert {one["ranks"] for one in own.values()} == {32}
    assert {len(one["peers"]) for one in own.values()} == {1}, "a fleet's plan must not grow with its square"


@pytest.mark.parametrize(("depth", "hours"), [("quick", 0.25), ("standard", 8), ("full", 48)])
def test_depth_sets_the_hours_and_a_number_overrides_it(depth, hours):
    assert plan(depth=depth)[0]["duration_s"] == hours * 3600
    assert plan(depth=depth, duration_s=60)[0]["duration_s"] == 60


@pytest.mark.parametrize(("depth", "seconds"), [("quick", 1), ("standard", 1), ("full", 6)])
def test_a_long_series_is_not_a_large_one(depth, seconds):
    assert {own["settings"]["resolution_s"] for own in plan(depth=depth)[0]["hosts"].values()} == {seconds}


def test_the_deadline_is_behind_the_planned_end():
    made, _ = plan()
    assert all(own["deadline_s"] > made["ends_at_s"] - 1000.0 for own in made["hosts"].values())


def test_nodes_that_cannot_take_part_are_refused_with_their_reason():
    made, _ = plan(unready=("n1",), refused={"n2": "no allocation"})
    assert made["refused"] == {"n1": "no PyTorch", "n2": "no allocation"}
    assert sorted(made["hosts"]) == ["n0", "n3"]
    assert {own["settings"]["ranks"] for own in made["hosts"].values()} == {16}


def test_turns_begin_wait_collect_and_end():
    made, facts = plan()
    first = burn_plan.turn(made, facts, 1000.0)
    assert (first["attend"], first["collect"], first["wait_s"]) == (["n0", "n1", "n2", "n3"], [], 0)
    assert all("settings" in own for own in first["plans"].values())
    running = {host: {**data, "job": {"state": "running"}} for host, data in facts.items()}
    later = burn_plan.turn(made, running, 1010.0)
    assert later["plans"]["n0"] == {"begun": True}, "what has been begun is never begun again"
    assert later["wait_s"] == 600
    ended = {**running, "n0": {"job": {"state": "ended"}}, "n1": {"job": {"state": "absent"}}}
    assert burn_plan.turn(made, ended, 2000.0)["collect"] == ["n0", "n1"]
    collected = {host: {"job": {"state": "ended", "collected": True}} for host in facts}
    assert burn_plan.turn(made, collected, 2000.0)["done"]


def test_a_node_that_is_never_heard_of_again_is_given_up():
    made, facts = plan()
    running = {host: {**data, "job": {"state": "running"}} for host, data in facts.items()}
    assert burn_plan.turn(made, running, made["gives_up_at_s"] + 1)["done"]


def test_a_plan_that_nobody_has_begun_is_moved():
    made, facts = plan()
    assert burn_plan.late(made, facts, 1000.0) == made
    moved = burn_plan.late(made, facts, 9000.0)
    assert moved["begin_at_s"] == moved["hosts"]["n0"]["begin_at_s"] == 9030.0
    assert moved["ends_at_s"] - moved["begin_at_s"] == made["ends_at_s"] - made["begin_at_s"]
    begun = {**facts, "n0": {**facts["n0"], "job": {"state": "running"}}}
    assert burn_plan.late(made, begun, 9000.0) == made


def test_the_text_says_how_to_go_on_and_how_to_stop():
    text = "\n".join(burn_plan.text(plan()[0], False, "again: x"))
    assert "Ctrl-C leaves it running" in text
    assert "playbooks/stop.yml" in text
    assert "32 devices" in text
    assert "8.0 h" in text


def test_where_a_gpu_has_vanished_the_others_still_sit_where_they_sat(tmp_path):
    burned = Burned(
        tmp_path,
        [{"fault": "gpu_fallen_off_bus", "hosts": "b-02", "gpu": 2}, {"fault": "burn_thermal_throttle", "hosts": "b-03", "gpu": 7}],
        5,
    )
    assert burned.verdicts("b-02")["burn_in.every_gpu"] == "fail"
    names = {device["name"]: device["pci"] for device in burned.data["b-02"]["devices"]}
    assert names["gpu6"] == burned.data["b-01"]["devices"][7]["pci"]
    assert [device["slot_pct"] is not None for device in burned.judged["b-02"]["judged"]] == [True] * 7
    assert set(burned.found()) == {"b-02", "b-03"}
    assert burned.found()["b-02"] == {"burn_in.every_gpu"}
