"""The inventory of a node, from captures: healthy, in trouble, with tools that are missing, hang or print rubbish."""

from __future__ import annotations

import copy
from pathlib import Path

import pytest
from accept_node.collectors import inventory_audit, inventory_gpus, inventory_host
from accept_node.envelope import collect
from accept_node.node import ReplayNode

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
ROOTS = ["0000:10:01.0/0000:11:00.0", "0000:30:01.0/0000:31:00.0"]
GPUS = {"0000:1b:00.0": ROOTS[0] + "/0000:12:00.0", "0000:43:00.0": ROOTS[1] + "/0000:32:00.0"}
NICS = {"0000:18:00.0": ROOTS[0] + "/0000:12:01.0", "0000:40:00.0": ROOTS[1] + "/0000:32:01.0"}


def text(name):
    return (FIXTURES / (name + ".txt")).read_text(encoding="utf-8")


def command(argv, stdout, rc=0, **rest):
    return {"argv": list(argv), "rc": rc, "stdout": stdout, "stderr": "", "duration_s": 0.1, **rest}


def tree(root, files, links=()):
    return {"root": root, "files": dict(files), "links": dict(links), "errors": {}, "reason": ""}


def real_paths():
    return {pci: "/sys/devices/pci0000:10/%s/%s" % (way, pci) for pci, way in {**GPUS, **NICS}.items()}


def infiniband():
    """The tree behind `grep -r .`, with the links that a tree has beside its files."""
    lines = text("sysfs_infiniband/6.8-cx7/two_rails").splitlines()
    files = dict(line[len("/sys/class/infiniband/") :].split(":", 1) for line in lines)
    paths, links = real_paths(), {}
    for number, pci in enumerate(NICS):
        links["mlx5_%d/device" % number] = paths[pci]
        links["mlx5_%d/device/net/ib%d" % (number, number)] = paths[pci] + "/net/ib%d" % number
    return tree("/sys/class/infiniband", files, links)


@pytest.fixture
def capture():
    """A node with two B200 and their two NICs, all well."""
    lspci = "".join(
        "%s 3D controller [0302]: NVIDIA Corporation GB100 [B200] [10de:2901] (rev a1)\n" % pci for pci in sorted(GPUS)
    ) + "".join("%s Infiniband controller [0207]: Mellanox Technologies MT2910 [15b3:1021]\n" % pci for pci in sorted(NICS))
    return {
        "schema": 1,
        "recorded_at_s": 1.79e9,
        "commands": [
            command(inventory_audit.LSPCI, lspci),
            command(inventory_gpus.SMI, text("nvidia_smi/580-b200/healthy")),
            command(inventory_gpus.NVLINK, text("nvidia_smi_nvlink/580-b200/healthy")),
            command(inventory_gpus.TOPO, text("nvidia_smi_topo/580-b200/two_gpus_two_nics")),
            command(inventory_host.BRIDGES, text("lspci/3.10-b200/acs@root_ports_only")),
            command(["lscpu", "-J"], text("lscpu/2.39/b200_flat")),
            command(inventory_host.LSMEM, text("meminfo/2.39/lsmem@2tib")),
            command(["nvme", "smart-log", "/dev/nvme0", "-o", "json"], text("nvme_smart/2.8/healthy")),
        ],
        "files": [
            {"path": "/proc/meminfo", "text": text("meminfo/6.8/machine")},
            {"path": "/proc/cmdline", "text": "ro iommu=pt\n"},
            {"path": "/sys/kernel/mm/transparent_hugepage/enabled", "text": "always [madvise] never\n"},
            {"path": "/sys/devices/system/clocksource/clocksource0/current_clocksource", "text": "tsc\n"},
        ],
        "trees": [
            infiniband(),
            tree("/sys/bus/pci/devices", {pci + "/iommu_group/type": "identity\n" for pci in real_paths()}, real_paths()),
            tree("/sys/class/net", {"ib0/mtu": "4092\n", "ib1/mtu": "4092\n"}),
            tree(
                "/sys/class/nvme",
                {
                    "nvme0/model": "DRIVE A  ",
                    "nvme0/serial": "S1",
                    "nvme0/state": "live\n",
                    "nvme0/transport": "pcie\n",
                    "nvme0/nvme0n1/size": "2048\n",
                },
                {"nvme0/device": "/sys/devices/pci0001:00/0001:01:00.0"},
            ),
            tree(
                "/sys/devices/system/node",
                {"node0/cpulist": "0-55\n", "node0/meminfo": "Node 0 MemTotal:   1056713028 kB\n", "node1/cpulist": "\n"},
            ),
            tree("/sys/kernel/mm/hugepages", {"hugepages-1048576kB/nr_hugepages": "0\n", "hugepages-2048kB/nr_hugepages": "512\n"}),
        ],
        "listings": [{"path": "/sys/kernel/iommu_groups", "names": ["0", "1"]}],
    }


def run(capture):
    envelope = collect("inventory_audit", inventory_audit.collect, ReplayNode(capture))
    return envelope, envelope["data"]


def answer(capture, argv, **change):
    """The capture with another answer to one command."""
    changed = copy.deepcopy(capture)
    (record,) = [record for record in changed["commands"] if record["argv"] == list(argv)]
    record.update(change)
    return changed


def test_healthy(capture):
    envelope, data = run(capture)
    assert (envelope["status"], envelope["errors"]) == ("ok", [])
    assert (data["vendor"], data["gpu_count"], data["pci_gpu_count"], data["gpus_lost"], data["gpus_undescribed"]) == (
        "nvidia",
        2,
        2,
        [],
        0,
    )
    first = data["gpus"][0]
    assert first["nvlink"] == {"active": 18, "inactive": [], "slowest_gbytes_s": 53.125}
    assert (first["nearest_nic_link"], first["nearest_nics"], first["nics_on_numa"]) == ("PXB", ["mlx5_0"], ["mlx5_0", "mlx5_1"])
    assert (first["power_limit_lowered"], first["pcie"]["width_reduced"], first["pcie"]["gen_settled"]) == (False, False, 5)
    assert (data["nic_count"], data["nics"][0]["netdev"], data["nics"][0]["mtu"], data["nics"][0]["pci"]) == (
        2,
        "ib0",
        4092,
        "0000:18:00.0",
    )
    assert data["acs"] == {"bridges": 8, "enabled": ["0000:10:01.0", "0000:30:01.0"], "enabled_between": [], "pairs": 2}
    assert data["iommu"]["mode"] == "passthrough"
    assert data["memory"]["installed_mib"] == 2097152
    assert data["numa"] == {
        "nodes": [{"node": 0, "cpus": "0-55", "memory_mib": 1031946}, {"node": 1, "cpus": "none", "memory_mib": None}],
        "cpu_nodes": 1,
    }
    assert data["hugepages"] == {"pages": {"1048576kB": 0, "2048kB": 512}, "transparent": "madvise"}
    (drive,) = data["nvme"]
    assert (drive["model"], drive["size_bytes"], drive["pci"], drive["smart"]["critical_warning"]) == (
        "DRIVE A",
        2048 * 512,
        "0001:01:00.0",
        0,
    )


def test_gpu_lost_on_the_bus(capture):
    """lspci still sees it, with revision ff, and nvidia-smi lists one less."""
    smi = text("nvidia_smi/580-b200/healthy")
    last = smi.index('\t<gpu id="00000000:43:00.0">')
    smi = smi[:last].replace("<attached_gpus>2", "<attached_gpus>1") + "</nvidia_smi_log>\n"
    bus = capture["commands"][0]["stdout"].replace("(rev a1)\n0000:43", "(rev a1)\n0000:43", 1)
    bus = "\n".join(line.replace("rev a1", "rev ff") if line.startswith("0000:43") else line for line in bus.splitlines())
    _, data = run(answer(answer(capture, inventory_gpus.SMI, stdout=smi), inventory_audit.LSPCI, stdout=bus))
    assert (data["gpu_count"], data["pci_gpu_count"]) == (1, 2)
    assert data["gpus_lost"] == [{"pci": "0000:43:00.0", "reason": "revision ff: it does not answer on the bus"}]


def test_gpu_that_the_tool_cannot_open(capture):
    """nvidia-smi names it and describes none: the GPUs are not measured, and the lost one is known all the same."""
    envelope, data = run(answer(capture, inventory_gpus.SMI, stdout="", stderr=text("nvidia_smi/580-b200/handle_lost"), rc=15))
    assert (envelope["status"], data["gpus"], data["gpu_count"]) == ("partial", None, None)
    assert data["gpus_lost"] == [{"pci": "0000:c3:00.0", "reason": "Unknown Error"}]


def test_undescribed_gpus_show(capture):
    _, data = run(answer(capture, inventory_gpus.SMI, stdout=text("nvidia_smi/580-b200/err_fields_and_seven_undescribed")))
    assert data["gpus_undescribed"] == 7
    assert data["gpus"][0]["temperature_c"] is None
    assert data["gpus"][0]["temperature_c_reason"] == "nvidia-smi printed GPU requires reset"


@pytest.mark.parametrize(
    "change",
    [
        {"rc": None, "reason": "missing", "stdout": ""},
        {"rc": None, "reason": "timeout", "stdout": ""},
        {"duration_s": 3600.0},
        {"rc": None, "reason": "permission", "stdout": ""},
        {"rc": 1, "stdout": "Segmentation fault (core dumped)\n"},
        {"stdout": ""},
        {"stdout": text("nvidia_smi/580-b200/healthy")[:5000]},
    ],
    ids=["missing", "timeout", "slow", "permission", "rubbish", "silent", "cut"],
)
def test_no_answer_is_never_no_gpu(capture, change):
    envelope, data = run(answer(capture, inventory_gpus.SMI, **change))
    assert envelope["status"] == "partial"
    assert any(error["source"] == "nvidia-smi -q -x" for error in envelope["errors"])
    assert data["gpus"] is None
    assert data["gpu_count"] is None
    assert data["gpus_lost"] is None
    assert data["nic_count"] == 2  # the rest is read


@pytest.mark.parametrize("argv", [inventory_gpus.NVLINK, inventory_gpus.TOPO, inventory_host.BRIDGES, ["lscpu", "-J"]], ids=" ".join)
@pytest.mark.parametrize("change", [{"rc": None, "reason": "timeout", "stdout": ""}, {"stdout": "rubbish\n"}], ids=["hangs", "rubbish"])
def test_other_tools_that_fail(capture, argv, change):
    envelope, data = run(answer(capture, argv, **change))
    assert envelope["status"] == "partial"
    unknown = {
        "nvlink": data["gpus"][0]["nvlink"]["active"],
        "topo": data["gpus"][0]["nearest_nic_link"],
        "-D": data["acs"]["enabled_between"],
        "-J": data["cpu"],
    }
    assert unknown[argv[1]] is None


def test_all_links_inactive_is_measured(capture):
    _, data = run(answer(capture, inventory_gpus.NVLINK, stdout=text("nvidia_smi_nvlink/580-b200/one_inactive_and_all_inactive")))
    assert [gpu["nvlink"]["active"] for gpu in data["gpus"]] == [17, 0]
    assert data["gpus"][0]["nvlink"]["inactive"] == [3]
    _, data = run(answer(capture, inventory_gpus.NVLINK, stdout=text("nvidia_smi_nvlink/580-b200/shortened")))
    assert [gpu["nvlink"]["active"] for gpu in data["gpus"]] == [18, None]


def test_acs_between_gpu_and_nic(capture):
    _, data = run(answer(capture, inventory_host.BRIDGES, stdout=text("lspci/3.10-b200/acs@left_on")))
    assert data["acs"]["enabled_between"] == [
        "0000:11:00.0",
        "0000:12:00.0",
        "0000:12:01.0",
        "0000:31:00.0",
        "0000:32:00.0",
        "0000:32:01.0",
    ]
    envelope, data = run(answer(capture, inventory_host.BRIDGES, stdout=text("lspci/3.10-b200/acs@not_root")))
    assert data["acs"]["enabled_between"] is None
    assert envelope["errors"][0]["reason"] == "permission"
    envelope, data = run(answer(capture, ["lscpu", "-J"], stdout=text("lscpu/2.37/nested_guest")))
    assert data["acs"]["enabled_between"] is None
    assert envelope["errors"][0]["reason"] == "virtual"


def test_a_bus_without_gpus(capture):
    """A machine without GPUs and without tools for them: measured, and none of it an error."""
    bare = answer(
        capture, inventory_audit.LSPCI, stdout="0000:00:02.0 Ethernet controller [0200]: Red Hat, Inc. Virtio network device [1af4:1041]\n"
    )
    bare["commands"] = [record for record in bare["commands"] if record["argv"][0] != "nvidia-smi"]
    bare["commands"].append(command(inventory_gpus.SMI, "", rc=None, reason="missing"))
    envelope, data = run(bare)
    assert (data["vendor"], data["gpu_count"], data["pci_gpu_count"], data["gpus"], data["gpus_lost"]) == ("none", 0, 0, [], [])
    assert envelope["errors"] == []


def test_without_lspci_the_kernel_lists_the_bus(capture):
    changed = answer(capture, inventory_audit.LSPCI, rc=None, reason="missing", stdout="")
    devices = next(record for record in changed["trees"] if record["root"] == "/sys/bus/pci/devices")
    for pci in GPUS:
        devices["files"].update({pci + "/vendor": "0x10de\n", pci + "/class": "0x030200\n"})
    _, data = run(changed)
    assert (data["pci_gpu_count"], data["gpus_lost"], data["iommu"]["types"]) == (2, [], ["identity"])


def test_amd(capture):
    changed = copy.deepcopy(capture)
    changed["commands"] = [record for record in changed["commands"] if record["argv"][0] not in ("nvidia-smi", "lspci")]
    bus = "".join(
        "0000:%s:00.0 Processing accelerators [1200]: Advanced Micro Devices, Inc. [AMD/ATI] Device [1002:74a1]\n" % bus
        for bus in ("05", "26")
    )
    changed["commands"] += [
        command(inventory_audit.LSPCI, bus),
        command(inventory_gpus.SMI, "", rc=None, reason="missing"),
        command(inventory_gpus.AMD_STATIC, text("amd_smi/rocm7-mi300x/static")),
        command(inventory_gpus.AMD_METRIC, text("amd_smi/rocm7-mi300x/metric@throttled")),
        command(inventory_host.BRIDGES, text("lspci/3.10-b200/acs@root_ports_only")),
    ]
    pages = {"card1/device/ras/gpu_vram_bad_pages": "", "card2/device/ras/gpu_vram_bad_pages": text("amd_smi/kernel/bad_pages@three")}
    links = {"card1/device": "/sys/devices/pci0000:00/0000:05:00.0", "card2/device": "/sys/devices/pci0000:20/0000:26:00.0"}
    changed["trees"].append(tree("/sys/class/drm", pages, links))
    envelope, data = run(changed)
    assert envelope["errors"] == []
    assert (data["vendor"], data["gpu_count"], data["gpus_lost"]) == ("amd", 2, [])
    hot = data["gpus"][1]
    assert (hot["throttle_status"], hot["ecc"]["volatile"]["uncorrectable"], hot["pcie"]["width_reduced"]) == ("THROTTLED", 2, True)
    assert hot["bad_pages"] == {"retired": 1, "pending": 1, "unreservable": 1}
    assert data["gpus"][0]["bad_pages"] == {"retired": 0, "pending": 0, "unreservable": 0}
    assert data["gpus"][0]["memory_gib"] == 191.98


def test_amd_by_its_older_tool(capture):
    changed = copy.deepcopy(capture)
    changed["commands"] = [record for record in changed["commands"] if record["argv"][0] != "nvidia-smi"]
    changed["commands"][0]["stdout"] = (
        "0000:05:00.0 Processing accelerators [1200]: Advanced Micro Devices, Inc. [AMD/ATI] Device [1002:74a1]\n"
    )
    changed["commands"] += [
        command(inventory_gpus.SMI, "", rc=None, reason="missing"),
        command(inventory_gpus.AMD_STATIC, "", rc=None, reason="missing"),
        command(inventory_gpus.ROCM, text("rocm_smi/6.2-mi300x/two_cards")),
    ]
    _, data = run(changed)
    assert (data["vendor"], data["driver_version"], data["gpu_names"]) == ("amd", "6.8.5", ["AMD Instinct MI300X"])
    assert data["gpus"][0]["ecc"]["volatile"]["uncorrectable"] is None


def test_drive_without_nvme_cli(capture):
    changed = answer(capture, ["nvme", "smart-log", "/dev/nvme0", "-o", "json"], rc=None, reason="missing", stdout="")
    changed["commands"].append(command(["smartctl", "-j", "-a", "/dev/nvme0"], text("nvme_smart/smartctl-7.4/smartctl@denied"), rc=2))
    envelope, data = run(changed)
    assert data["nvme"][0]["smart"] is None
    assert "Permission denied" in envelope["errors"][0]["message"]


def test_rails_are_the_largest_group(capture):
    """A bonded front-end NIC and a virtual function are no rails; a rail that is down still counts."""
    changed = copy.deepcopy(capture)
    ib = changed["trees"][0]
    extra = {"board_id": "MT_0000000884", "fw_ver": "32.38.3056", "ports/1/state": "4: ACTIVE", "ports/1/rate": "200 Gb/sec (2X NDR)"}
    ib["files"].update({"mlx5_bond_0/" + name: value for name, value in {**extra, "ports/1/link_layer": "Ethernet"}.items()})
    ib["files"].update(
        {"mlx5_5/" + name: value for name, value in {**extra, "board_id": "MT_0000000838", "ports/1/link_layer": "InfiniBand"}.items()}
    )
    ib["links"]["mlx5_5/device/physfn"] = "/sys/devices/pci0000:10/0000:18:00.0"
    ib["files"].update({"mlx5_1/ports/1/state": "1: DOWN", "mlx5_1/ports/1/rate": "10 Gb/sec (4X SDR)"})
    _, data = run(changed)
    assert {nic["name"]: nic["fabric"] for nic in data["nics"]} == {"mlx5_0": True, "mlx5_1": True, "mlx5_5": False, "mlx5_bond_0": False}
    assert data["nic_count"] == 2


def test_nothing_answers():
    envelope, data = run({"schema": 1})
    assert envelope["status"] == "partial"
    assert all(error["reason"] == "not_recorded" or error["reason"] == "virtual" for error in envelope["errors"])
    measured = {name: value for name, value in data.items() if value not in (None, [])}
    assert set(measured) == {"numa", "memory", "hugepages", "topology", "iommu", "acs"} - {"numa"}
    assert data["gpus"] is None
    assert data["nics"] is None


def test_a_gpu_whose_address_was_not_read_is_not_lost(capture):
    """It may be any of those on the bus; that one of them is lost is not measured."""
    smi = text("nvidia_smi/580-b200/healthy").replace("00000000:43:00.0", "N/A")
    _, data = run(answer(capture, inventory_gpus.SMI, stdout=smi))
    assert (data["gpu_count"], data["gpus_lost"]) == (2, None)
