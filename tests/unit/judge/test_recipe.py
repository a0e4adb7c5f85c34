"""Which setting wins, what the golden recipe is on given facts, and which libraries a fabric can run."""

from __future__ import annotations

from pathlib import Path

import pytest
from accept_judge import fabric_libraries, nccl_env, recipe
from accept_judge import standards as standards_of

STANDARDS = Path(__file__).resolve().parents[3] / "standards"
V6 = "fd02:0000:0000:0000:0000:0000:0000:0001"
V4 = "0000:0000:0000:0000:0000:ffff:0a64:0001"
FE80 = "fe80:0000:0000:0000:9e63:c0ff:fe5e:0010"


def shipped(*files, **rest):
    return {"settings": [{"from": path, "values": values} for path, values in files], "mounts": [], **rest}


def test_environment_before_files_and_the_first_file_before_the_others():
    data = shipped(
        ("/etc/nccl.conf", {"NCCL_IB_TC": "41", "NCCL_IB_SL": "0", "NCCL_DEBUG": "WARN"}),
        ("/etc/skel/.nccl.conf", {"NCCL_IB_SL": "1"}),
        ("/etc/environment", {"NCCL_IB_TC": "96", "NCCL_BUFFSIZE": "1"}),
        ("/etc/profile.d/nccl.sh", {"NCCL_IB_TC": "106"}),
        ("/etc/slurm/task_prolog.sh", {"NCCL_BUFFSIZE": "2"}),
        ("/usr/share/modulefiles/nccl", {"NCCL_ALGO": "Ring"}),
        ("/root/.nccl.conf", {"NCCL_PROTO": "LL"}),
    )
    assert {name: setting.value for name, setting in nccl_env.in_force(data).items()} == {
        "NCCL_IB_TC": "106",
        "NCCL_IB_SL": "1",
        "NCCL_DEBUG": "WARN",
        "NCCL_BUFFSIZE": "2",
    }


def test_a_named_conf_file_takes_the_place_of_the_users_own():
    data = shipped(
        ("/opt/site/nccl.conf", {"NCCL_IB_TC": "106"}),
        ("/etc/skel/.nccl.conf", {"NCCL_IB_TC": "41", "NCCL_IB_SL": "1"}),
        ("/etc/nccl.conf", {"NCCL_IB_TC": "0", "NCCL_DEBUG": "WARN"}),
        ("/etc/environment", {"NCCL_CONF_FILE": "/opt/site/nccl.conf"}),
    )
    chosen = nccl_env.in_force(data)
    assert (chosen["NCCL_IB_TC"].value, chosen["NCCL_DEBUG"].value, "NCCL_IB_SL" in chosen) == ("106", "WARN", False)
    assert nccl_env.conflicts(data, chosen)[0]["finding"].startswith("106 in /opt/site/nccl.conf wins over 41 in /etc/skel/.nccl.conf")


def test_a_container_sees_files_only_where_they_are_mounted():
    data = shipped(("/etc/nccl.conf", {"NCCL_IB_TC": "106"}), ("/etc/enroot/environ.d/1.env", {"NCCL_IB_SL": "1"}))
    assert set(nccl_env.in_force(data, inside=True)) == {"NCCL_IB_SL"}
    data["mounts"] = [{"from": "/etc/enroot/mounts.d/1.fstab", "what": "/etc/nccl.conf"}]
    assert set(nccl_env.in_force(data, inside=True)) == {"NCCL_IB_TC", "NCCL_IB_SL"}


def test_harm_depends_on_value_and_form():
    catalog = standards_of.load(STANDARDS).catalogs["nccl_settings"]["settings"]
    chosen = {"NCCL_MNNVL_ENABLE": nccl_env.Setting("0", "f"), "NCCL_IB_DISABLE": nccl_env.Setting("0", "f")}
    assert [found["name"] for found in nccl_env.harmful(chosen, catalog, "nvl72")] == ["NCCL_MNNVL_ENABLE"]
    assert nccl_env.harmful(chosen, catalog, "hgx") == []


def test_what_is_offered_on_request_is_one_file_or_none():
    module = ("/usr/share/modulefiles/nccl/2.27", {"NCCL_IB_TC": "106"})
    assert nccl_env.on_request(shipped(module, ("/etc/nccl.conf", {"NCCL_IB_SL": "0"}))) == {"from": module[0], "values": module[1]}
    assert nccl_env.on_request(shipped(module, ("/usr/local/gib/scripts/set_nccl_env.sh", {"NCCL_NET": "gIB"}))) is None
    assert nccl_env.on_request(shipped()) is None


def facts(gid=V4, kind="ipv4", version="2.27.3", nics=("mlx5_0", "mlx5_1"), **roce):
    gids = [
        {"index": 0, "gid": FE80, "kind": "link_local", "type": "v1", "netdev": "r", "netdev_state": "up"},
        {"index": 1, "gid": FE80, "kind": "link_local", "type": "v2", "netdev": "r", "netdev_state": "up"},
        {"index": 3, "gid": gid, "kind": kind, "type": "v2", "netdev": "r", "netdev_state": "up"},
    ]
    base = {"link_layer": "Ethernet", "traffic": True, "rail": True, "gids": gids, "best_v2": kind, "routable_v2": [3]}
    rails = [{**base, "name": f"mlx5_{n}/1", "device": f"mlx5_{n}", "port": 1, "netdev": f"rail{n}"} for n in (0, 1)]
    qos = {"rail": True, "traffic_class": "none", "pfc": [3], "dscp_priority": {"0": "0-7", "3": "24-31"}, **roce}
    return {
        "gid_check": {"ports": rails, "rocev2_common": [3]},
        "inventory_audit": {"nics": [{"name": name, "vf": False, "fabric": True} for name in nics]},
        "roce_config": {"ports": [qos, qos]},
        "isolation_audit": {"egress": {"default_routes": ["eno1"]}},
        "version_audit": {"components": {"nccl": {"version": version}}, "modules": {}},
        "nccl_recipe": {"plugins": []},
    }


ROCE = {"transport": "roce", "form": "hgx", "vendor": "nvidia"}


def made(given=None, context=ROCE):
    return recipe.make(given or facts(), context, STANDARDS)


def values(found):
    return {line["name"]: line["value"] for line in found["lines"]}


def test_no_setting_without_need():
    """The library finds its rails and their GIDs by itself; the traffic class it cannot know."""
    found = made()
    assert values(found) == {"NCCL_IB_TC": "106", "NCCL_SOCKET_IFNAME": "eno1"}
    assert {one["about"] for one in found["decisions"]} >= {"NCCL_IB_HCA is not set", "NCCL_IB_GID_INDEX is not set"}
    assert all(line["source"] and line["why"] for line in found["lines"])


def test_adapters_for_something_else_are_left_out_by_exact_names():
    assert values(made(facts(nics=("mlx5_0", "mlx5_1", "mlx5_10"))))["NCCL_IB_HCA"] == "=mlx5_0,mlx5_1"


def test_an_index_only_where_the_library_would_choose_wrongly():
    assert values(made(facts(version="2.19.4")))["NCCL_IB_GID_INDEX"] == "3"
    assert values(made(facts(version=None)))["NCCL_IB_GID_INDEX"] == "3"
    six = values(made(facts(gid=V6, kind="global")))
    assert (six["NCCL_IB_ADDR_FAMILY"], "NCCL_IB_GID_INDEX" in six) == ("AF_INET6", False)
    lost = facts(version="2.19.4")
    lost["gid_check"]["rocev2_common"] = []
    assert "NCCL_IB_GID_INDEX" not in values(made(lost))


@pytest.mark.parametrize(
    ("roce", "expected"),
    [
        ({"dscp_priority": {"3": "10,12-13"}}, "42"),
        ({"pfc": [4], "dscp_priority": {"4": "26"}}, "106"),
        ({"traffic_class": 106}, None),
        ({"pfc": []}, None),
        ({"pfc": [3, 4]}, None),
        ({"dscp_priority": {"0": "0-63"}}, None),
    ],
)
def test_traffic_class_is_what_the_rails_keep_lossless(roce, expected):
    assert values(made(facts(**roce))).get("NCCL_IB_TC") == expected


@pytest.mark.parametrize(
    ("context", "chosen"),
    [
        ({"transport": "infiniband", "form": "hgx", "vendor": "nvidia"}, "infiniband_hgx"),
        ({"transport": "roce", "form": "nvl72", "vendor": "nvidia"}, "roce_nvl72"),
        ({"transport": "infiniband", "form": "nvl72", "vendor": "nvidia"}, "infiniband_nvl72"),
        ({"transport": "roce", "form": "hgx", "vendor": "amd"}, "roce_amd"),
        ({"transport": "infiniband", "form": "hgx", "vendor": "amd"}, "infiniband_amd"),
        ({"transport": "none", "form": None, "vendor": None}, None),
        ({"transport": None, "form": "hgx", "vendor": "nvidia"}, None),
    ],
)
def test_each_platform_has_one_recipe(context, chosen):
    found = made(context=context)
    assert (found and found["id"]) == chosen


def test_clouds_with_plugins_of_their_own():
    efa, gib = facts(), facts()
    efa["version_audit"]["modules"]["efa"] = "2.13.0"
    gib["nccl_recipe"]["plugins"] = [{"path": "/usr/local/gib/lib64/libnccl-net.so", "kind": "net", "target": ""}]
    assert made(efa)["id"] == "efa"
    assert values(made(gib)) == {"NCCL_NET": "gIB"}


def test_artefacts_of_a_cluster():
    odd = facts(version="2.19.4")
    cluster = recipe.of_cluster({"n1": made(), "n2": made(), "n3": made(odd), "n4": None})
    assert (cluster["nodes"], cluster["differ"]) == (3, ["n3"])
    assert recipe.environment(cluster) == {"NCCL_IB_TC": "106", "NCCL_SOCKET_IFNAME": "eno1"}
    assert recipe.conf(cluster).splitlines()[1:] == ["NCCL_IB_TC=106", "NCCL_SOCKET_IFNAME=eno1"]
    files = recipe.files([{"cluster": "c1", **cluster}])
    assert set(files) == {"recipe/nccl.conf", "recipe/README.md"}
    page = files["recipe/README.md"]
    assert "DSCP 26 goes to priority 3" in page
    assert "Other settings come out for n3" in page
    assert recipe.of_cluster({"n1": None}) is None
    two = recipe.files([{"cluster": "c1", **cluster}, {"cluster": "c2", **cluster}])
    assert set(two) == {"recipe/c1/nccl.conf", "recipe/c2/nccl.conf", "recipe/README.md"}
    odd = recipe.files([{"cluster": "../../etc", **cluster}, {"cluster": "", **cluster}])
    assert set(odd) == {"recipe/______etc/nccl.conf", "recipe/cluster/nccl.conf", "recipe/README.md"}


def test_what_is_not_the_librarys_own_does_not_get_into_its_conf_file():
    found = recipe.of_cluster({"n1": made(context={**ROCE, "vendor": "amd"})})
    assert "# for the environment of the job: HSA_NO_SCRATCH_RECLAIM=1" in recipe.conf(found)


def test_a_sample_is_spread():
    names = [f"n{number:04d}" for number in range(1000)]
    taken = recipe.sample(names)
    assert len(taken) == len(set(taken)) == recipe.SAMPLE
    assert recipe.sample(names[:3]) == names[:3]


def library(key, **changes):
    have = {
        "recipe": {"driver_params": {"registry_dwords": "PeerMappingOverride=1;"}},
        "inventory": {"nics": [{"fabric": True, "hca_type": "MT4129"}], "gpus": [{"nvlink": {"active": 18}}]},
        "versions": {"modules": {"gdrdrv": "2.5", "nvidia_peermem": "none"}, "components": {"nvidia_driver": {"flavour": "open"}}},
    }
    have.update(changes)
    catalog = standards_of.load(STANDARDS).catalogs["fabric_libraries"]["libraries"]
    found = fabric_libraries.judge(catalog, fabric_libraries.Facts(**have), "nvidia", ["deepep"])
    return next(one for one in found if one["key"] == key)


def test_libraries_that_send_from_the_gpu():
    assert library("deepep") == {"name": "DeepEP between nodes", "key": "deepep", "wanted": True, "finding": "none", "finding_reason": ""}
    other = {"nics": [{"fabric": True, "hca_type": "bnxt"}], "gpus": [{"nvlink": {"active": 18}}]}
    assert "mlx5" in library("nvshmem", inventory=other)["finding"]
    plain = {"driver_params": {"registry_dwords": ""}}
    assert library("deepep", recipe=plain)["finding"] == "none"  # GDRCopy helps
    assert "PeerMappingOverride" in library("nvshmem_ibgda", recipe=plain)["finding"]
    bare = {"modules": {"gdrdrv": "none", "nvidia_peermem": "none"}, "components": {"nvidia_driver": {"flavour": "proprietary"}}}
    assert library("deepep", recipe=plain, versions=bare)["finding"].count(";") == 1


def test_what_was_not_measured_runs_no_library():
    unknown = library("deepep", inventory=None)
    assert unknown["finding"] is None
    assert "not measured" in unknown["finding_reason"]
    assert library("nvshmem_ibgda", recipe={"driver_params": None})["finding"] is None
