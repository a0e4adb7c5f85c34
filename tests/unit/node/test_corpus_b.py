"""Published outputs of nvidia-smi, amd-smi, rocm-smi, lspci, ethtool and sysfs give the values that their index lists."""

from __future__ import annotations

import pytest
from accept_node.parsers import (
    ParseError,
    amd_smi,
    ethtool,
    lspci,
    nvidia_smi,
    nvidia_smi_csv,
    nvidia_smi_list,
    nvidia_smi_nvlink,
    nvidia_smi_q,
    nvidia_smi_table,
    nvidia_smi_topo,
    rocm_smi,
    sysfs_infiniband,
)


@pytest.fixture
def read(corpus):
    return lambda name: (corpus / name).read_text(encoding="utf-8")


def links_up(found):
    return [sum(link["active"] is True for link in gpu["links"]) for gpu in found["gpus"]]


# --- nvidia-smi -q -x ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "product", "driver", "attached", "described"),
    [
        ("q_x_b200", "NVIDIA B200", "580.105.08", 8, 2),
        ("q_x_gb200-ecc-injected", "NVIDIA GB200", "580.65.06", 2, 2),
        ("q_x_gb300", "NVIDIA GB300", "580.173.02", 4, 4),
        ("q_x_t4", "Tesla T4", "595.91.07", 1, 1),
        ("telegraf_a100-sxm4-v12", "NVIDIA A100-SXM4-80GB", "535.54.03", 4, 1),
        ("telegraf_gtx-1070-ti", "GeForce GTX 1070 Ti", None, None, 1),
        ("telegraf_quadro-p400", "Quadro P400", "418.43", 1, 1),
        ("telegraf_rtx-3080-v13", "NVIDIA GeForce RTX 3080", "595.58.03", 1, 1),
    ],
)
def test_xml(read, name, product, driver, attached, described):
    found = nvidia_smi.parse(read(f"b_smi/{name}.xml"))
    assert (found["driver_version"], found["attached_gpus"], len(found["gpus"])) == (driver, attached, described)
    assert found["gpus"][0]["name"] == product


def test_xml_of_a_rack_tray(read):
    gpu = nvidia_smi.parse(read("b_smi/q_x_gb300.xml"))["gpus"][0]
    assert gpu["pci"] == "0008:06:00.0"
    assert gpu["fabric"] == {
        "state": "Completed",
        "status": "Success",
        "clique_id": 32766,
        "cluster_uuid": "00000001-0000-0000-0000-000000000001",
        "health": "Healthy",
        "bandwidth": "Full",
    }
    assert (gpu["memory_mib"], gpu["power_limit_w"], gpu["pcie"]["gen"], gpu["pcie"]["width"]) == (284208, 1400.0, 6, 16)
    assert gpu["remapped_rows"] == {"correctable": 0, "uncorrectable": 0, "pending": False, "failed": False}


def test_xml_that_belongs_to_no_domain(read):
    gpu = nvidia_smi.parse(read("b_smi/q_x_b200.xml"))["gpus"][0]
    assert gpu["fabric"]["cluster_uuid"] == "none"
    assert gpu["persistence"] is False
    assert gpu["event_reasons"]["sw_power_cap"] is False


def test_injected_ecc_errors(read):
    gpu = nvidia_smi.parse(read("b_smi/q_x_gb200-ecc-injected.xml"))["gpus"][0]
    assert gpu["ecc"]["volatile"]["uncorrectable"] == 5
    assert gpu["ecc"]["aggregate"]["uncorrectable"] == 8
    assert gpu["ecc"]["aggregate"]["correctable"] is None  # 0 of one memory says nothing where the other did not answer
    assert gpu["remapped_rows"]["failed"] is True


def test_mig_hides_remapped_rows(read):
    gpu = nvidia_smi.parse(read("b_smi/telegraf_a100-sxm4-v12.xml"))["gpus"][0]
    assert gpu["mig"] == {"current": True, "pending": True, "devices": 4}
    assert gpu["remapped_rows"]["pending"] is None
    assert gpu["reasons"]["remapped_rows.pending"] == "N/A"
    assert nvidia_smi.parse(read("b_smi/telegraf_rtx-3080-v13.xml"))["gpus"][0]["mig"]["current"] is None


def test_old_xml_has_what_it_has(read):
    quadro = nvidia_smi.parse(read("b_smi/telegraf_quadro-p400.xml"))
    assert quadro["cuda_version"] == "10.1"
    assert quadro["gpus"][0]["ecc"]["volatile"]["uncorrectable"] is None
    assert (quadro["gpus"][0]["pcie"]["gen"], quadro["gpus"][0]["pcie"]["gen_max"]) == (1, 3)


# --- other outputs of nvidia-smi ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "up", "rate"),
    [
        ("aznhc_nvlink_all_inactive", [0], None),
        ("aznhc_nvlink_ok_a100", [12], 25.0),
        ("gpud1085_nvlink_inActive_b200", [0], None),
        ("h100_nvlink_s", [18], 26.562),
        ("h200_nvlink_s", [18], 26.562),
        ("kti371_nvlink_s_gb200_cut", [18, 2], 53.125),
        ("nvlink_status_a100_8gpu", [12] * 8, 25.0),
    ],
)
def test_nvlink(read, name, up, rate):
    found = nvidia_smi_nvlink.parse(read(f"b_smi/{name}.txt"))
    assert links_up(found) == up
    assert {link["gbytes_s"] for gpu in found["gpus"] for link in gpu["links"]} == ({rate} if rate else set())


def test_nvlink_words(read):
    inactive = nvidia_smi_nvlink.parse(read("b_smi/aznhc_nvlink_all_inactive.txt"))["gpus"][0]
    assert inactive["message"] == "NVML: Unable to retrieve NVLink information as all links are inactive"
    assert [gpu["cut"] for gpu in nvidia_smi_nvlink.parse(read("b_smi/kti371_nvlink_s_gb200_cut.txt"))["gpus"]] == [False, True]
    remote = nvidia_smi_nvlink.parse_remote(read("b_smi/nvlink_R_case0.txt"))["gpus"][0]["links"]
    assert len(remote) == 12
    assert remote[6] == {"link": 6, "remote_pci": "000a:00:00.0", "remote_link": 26}
    info = nvidia_smi_nvlink.parse_info(read("b_smi/kti371_nvlink_info_gb200.txt"))["gpus"][0]["info"]
    assert (info["NVLE"], info["NETIR"]) == ("disabled", "36:2014:1862")


@pytest.mark.parametrize(
    ("name", "gpus", "nics", "rows"),
    [
        ("h100mig_topo_m", 1, 0, 1),
        ("l40s_topo_m", 1, 0, 1),
        ("nccl2150_topo_h100_8nic_tabs", 8, 8, 6),
        ("topo_case_202", 4, 6, 4),
        ("topo_case_247", 2, 0, 2),
        ("topo_oci_nic_legend", 4, 4, 8),
        ("topo_preamble_note", 2, 1, 2),
        ("topo_rows_out_of_order", 3, 1, 3),
    ],
)
def test_topo(read, name, gpus, nics, rows):
    found = nvidia_smi_topo.parse(read(f"b_smi/{name}.txt"))
    assert (len(found["gpus"]), len(found["nics"]), len(found["links"])) == (gpus, nics, rows)


def test_topo_places(read):
    oci = nvidia_smi_topo.parse(read("b_smi/topo_oci_nic_legend.txt"))
    assert oci["links"]["GPU3"]["mlx5_1"] == "PXB"
    assert oci["links"]["mlx5_1"]["GPU3"] == "PXB"
    assert oci["cpu_affinity"]["GPU0"] == "0-55,112-167"
    mixed = nvidia_smi_topo.parse(read("b_smi/topo_rows_out_of_order.txt"))["links"]
    assert [mixed[gpu]["mlx5_0"] for gpu in ("GPU0", "GPU1", "GPU2")] == ["PIX", "SYS", "NODE"]
    cut = nvidia_smi_topo.parse(read("b_smi/nccl2150_topo_h100_8nic_tabs.txt"))
    assert cut["cut"] == ["GPU6"]
    assert "GPU7" in cut["missing"]
    assert nvidia_smi_topo.parse(read("b_smi/h100mig_topo_m.txt"))["numa"] == {"GPU0": 0}


@pytest.mark.parametrize(
    ("name", "driver", "gpu"),
    [
        ("h200_idle_query_gpu", "590.48.01", "NVIDIA H200"),
        ("h200mig_load_query_gpu", "590.48.01", "NVIDIA H200"),
        ("l40s_idle_query_gpu", "595.80", "NVIDIA L40S"),
        ("win610_idle_query_gpu", "610.62", "NVIDIA GeForce RTX 2080 SUPER"),
    ],
)
def test_csv_of_all_fields(read, name, driver, gpu):
    found = nvidia_smi_csv.parse(read(f"b_smi/{name}.csv"))
    row = dict(zip(found["columns"], found["rows"][0]))
    assert (row["driver_version"], row["name"]) == (driver, gpu)
    assert row["display_mode"] is None  # "[Requested functionality has been deprecated]"
    assert row["retired_pages.pending"] is None
    assert row["power.limit"] > 0


def test_csv_with_unknown_errors(read):
    units = nvidia_smi_csv.parse(read("b_smi/mega376_csv_units_unknown_error.csv"))["rows"]
    assert units[0][6] is None
    assert units[1][6] == 60
    assert len(units) == 4  # its index says 8 rows; the file has 4
    bare = nvidia_smi_csv.parse(read("b_smi/mm627_csv_unknown_error.csv"))
    row = dict(zip(bare["columns"], bare["rows"][0]))
    assert (row["power.default_limit"], row["power.draw"], row["name"]) == (None, 228.82, "GeForce RTX 2080 Ti")
    assert nvidia_smi_csv.parse(read("b_smi/nvs1216_csv_domain_8.csv"))["rows"][0][1] == "0008:06:00.0"
    assert [row[1] for row in nvidia_smi_csv.parse(read("b_smi/insights_nvidia_187.txt"))["rows"]] == [
        "NVIDIA L4",
        "NVIDIA A1",
        "NVIDIA H1",
    ]


def test_list(read):
    mig = nvidia_smi_list.parse(read("b_smi/h200mig_list_l.txt"))["gpus"]
    assert [device["profile"] for device in mig[0]["mig"]] == ["1c.3g.71gb", "2c.3g.71gb", "2g.35gb", "1g.18gb", "1g.18gb"]
    assert len(nvidia_smi_list.parse(read("b_smi/insights_nvidia_23.txt"))["gpus"]) == 8
    assert [gpu["index"] for gpu in nvidia_smi_list.parse(read("b_smi/insights_nvidia_72.txt"))["gpus"]] == [0, 2]
    with pytest.raises(ParseError):  # no line of it is whole: one lacks "UUID:", one the colon after the index
        nvidia_smi_list.parse(read("b_smi/insights_nvidia_66.txt"))


def test_text(read):
    assert nvidia_smi_q.parse(read("b_smi/gpud80_remapped_rows_pending.txt"))["Remapped Rows"] == {
        "Correctable Error": "0",
        "Uncorrectable Error": "4",
        "Pending": "Yes",
    }
    assert nvidia_smi_q.parse(read("b_smi/h100_version.txt"))["DRIVER version"] == "590.48.01"
    found = nvidia_smi_q.parse(read("b_smi/h200mig_idle_query_q.txt"))
    gpu = found["GPU 00000000:83:00.0"]
    assert (found["Driver Version"], gpu["MIG Mode"]["Current"], gpu["Remapped Rows"]) == ("590.48.01", "Enabled", None)


def test_tables(read):
    row = nvidia_smi_table.parse(read("b_smi/azdiag77_err_power_row.txt"))["gpus"][0]
    assert (row["index"], row["temperature_c"], row["power_draw_w"], row["name_cut"]) == (1, 29, None, True)
    assert row["reasons"]["power_draw_w"] == "ERR!"
    load = nvidia_smi_table.parse(read("b_smi/h200_load_nvidia_smi_default_table.txt"))
    assert (load["driver_version"], load["gpus"][0]["power_draw_w"], len(load["processes"])) == ("590.48.01", 628.0, 3)
    windows = nvidia_smi_table.parse(read("b_smi/win610_idle_nvidia_smi_default_table.txt"))
    assert (windows["driver_version"], windows["cuda_version"], windows["gpus"][0]["memory_mib"]) == ("610.62", "13.3", 8192)
    rows = nvidia_smi_table.parse_pmon(read("b_smi/sonar170_pmon_two_formats.txt"))["rows"]
    assert [len(row) for row in rows] == [8, 8, 10, 10]
    assert (rows[0]["sm"], rows[2]["pid"]) == (88, None)
    profiles = nvidia_smi_table.parse_lgip(read("b_smi/gpuop1303_mig_lgip_gb200.txt"))["profiles"]
    assert [(p["name"], p["id"], p["free"], p["total"]) for p in profiles][:2] == [("1g.24gb", 19, 7, 7), ("1g.24gb+me", 20, 1, 1)]


# --- AMD ------------------------------------------------------------------------------------------------------------------------------


def test_amd_smi(read):
    watch = amd_smi.parse_metric(read("b_rocmsmi/amdsmi2720_watch_json_prefix.txt"))
    assert watch["cut"] is True
    assert watch["messages"] == ["'CTRL' + 'C' to stop watching output:"]
    assert watch["gpus"][0]["utilization_pct"] is None
    static = amd_smi.parse(read("b_rocmsmi/amdsmi_static_gpu_data_147.json"))["gpus"]
    assert (static[0]["gpu"], static[0]["name"], static[0]["memory_mib"]) == (0, "AMD Instinct MI210", 65520)
    assert amd_smi.parse_metric(read("b_rocmsmi/olh458_amdsmi_gpu_data_mixed_list.json"))["gpus"][0]["utilization_pct"] == 2.0


def test_rocm_smi(read):
    new = rocm_smi.parse(read("b_rocmsmi/telegraf_mi100_rocm602.json"))
    assert (len(new["gpus"]), new["driver_version"], new["gpus"][0]["temperature_c"]) == (4, "6.3.6", 55.0)
    old = rocm_smi.parse(read("b_rocmsmi/telegraf_rx6700xt_rocm430.json"))["gpus"]
    assert (len(old), old[0]["memory_mib"], old[0]["memory_used_mib"]) == (1, 12868124672 // 1024**2, 1622728704 // 1024**2)
    with pytest.raises(ParseError, match="No JSON data"):
        rocm_smi.parse(read("b_rocmsmi/rsmi4374_no_json_warning.txt"))
    wedged = rocm_smi.parse_table(read("b_rocmsmi/rsmi85_wedged_gpu_text.txt"))
    assert wedged["gpus"][0]["values"]["Temp"] is None
    assert any(message.startswith("ERROR: 15 GPU[0]") for message in wedged["messages"])


# --- bus, Ethernet, InfiniBand ---------------------------------------------------------------------------------------------------------


def test_lspci(read):
    fallen = lspci.parse(read("b_smi/lspci_rev_ff_gpu_lost.txt"))["devices"]
    assert {d["pci"]: d["lost"] for d in fallen if d["kind"] == "gpu"} == {
        "0000:1a:00.0": False,
        "0000:1c:00.0": True,
        "0000:1d:00.0": False,
    }
    kinds = [device["kind"] for device in lspci.parse(read("e_fabric/lspci_a100.txt"))["devices"]]
    assert (kinds.count("gpu"), kinds.count("nvswitch")) == (8, 6)


def test_ethtool(read):
    for number in (266, 284):
        rings = ethtool.parse_rings(read(f"e_fabric/insights_ethtool_{number}.txt"))
        assert (rings["device"], rings["current"]["RX"], rings["max"]["RX Mini"]) == ("ens3", 256, None)
    assert ethtool.parse_driver(read("e_fabric/insights_ethtool_396.txt")) == {
        "driver": "bonding",
        "version": "3.6.0",
        "firmware": "2",
        "bus": None,
    }
    assert ethtool.parse_driver(read("e_fabric/insights_ethtool_420.txt"))["driver"] == "virtio_net"
    settings = ethtool.parse(read("e_fabric/insights_ethtool_853.txt"))
    assert (settings["device"], settings["speed_gbps"], settings["link"]) == ("eth1", 1.0, True)
    assert "Cannot get wake-on-lan settings: Operation not permitted" in settings["messages"]
    counters = ethtool.parse_stats(read("e_fabric/amdnic_ethtool_S_enp68s0.txt"))["counters"]
    assert (len(counters), counters["tx_packets"], counters["rx_packets"]) == (607, 25, 3115860)


def test_sysfs_infiniband(read):
    h100 = sysfs_infiniband.parse(read("e_fabric/sysfs_ib_h100.txt"))["devices"]
    assert len(h100) == 4
    first, port = h100["mlx5_0"], h100["mlx5_0"]["ports"]["1"]
    assert (first["firmware"], first["board_id"]) == ("28.41.1000", "MT_0000000838")
    assert (port["rate_gbps"], port["speed"], port["state"]) == (400.0, "4X NDR", "active")
    assert h100["mlx5_bond_0"]["ports"]["1"]["link_layer"] == "Ethernet"
    mixed = sysfs_infiniband.parse(read("e_fabric/procfs_sysfs_ib_opa_mlx4_mlx5.txt"))["devices"]
    assert mixed["hfi1_0"]["ports"]["1"]["rate_gbps"] == 100.0
    assert [port["speed"] for port in mixed["mlx4_0"]["ports"].values()] == ["4X QDR", "4X QDR"]
    ceiling = sysfs_infiniband.parse_counters(read("e_fabric/gpud943_sysfs_counters_saturated.txt"))
    assert {"link_downed", "port_xmit_discards", "port_xmit_wait"} <= set(ceiling["saturated"])
    assert "symbol_error" not in ceiling["saturated"]


def test_every_file_is_asked_for(corpus):
    """A file that is added to these folders has to get its values here."""
    text = open(__file__, encoding="utf-8").read()  # noqa: SIM115
    names = [path.stem for folder in ("b_smi", "b_rocmsmi") for path in (corpus / folder).iterdir()]
    assert [name for name in names if name not in text] == []
