"""tools/simulate: the same spec gives the same bytes, a fault is seen, a healthy node answers all that is asked, a bad spec is one line."""

from __future__ import annotations

import json

import pytest
import yaml
from simulation import build, faults, render


@pytest.fixture
def written(tmp_path):
    """A spec in a file, as the tool gets it."""

    def write(spec):
        path = tmp_path / "spec.yml"
        path.write_text(spec if isinstance(spec, str) else yaml.safe_dump(spec))
        return path

    return write


def test_same_spec_same_bytes(tool, spec, written, tmp_path, capsys):
    spec["faults"] = [{"fault": "xid_45_storm", "hosts": "b200-01"}, {"fault": "foreign_nvlink_domain", "hosts": "gb300-[01-02]"}]
    for out in ("one", "two"):
        assert tool("simulate").main([str(written(spec)), str(tmp_path / out)]) == 0
    files = sorted(path.relative_to(tmp_path / "one") for path in (tmp_path / "one").rglob("*") if path.is_file())
    assert len(files) == 5 + len(("hosts.yml", "contract.yml", "rail_map.csv", "switch_ports.csv"))
    for file in files:
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes(), file
    assert capsys.readouterr().out.splitlines()[0] == f"5 captures in {tmp_path / 'one'}"


def test_another_seed_makes_other_machines_of_the_same_kind(spec):
    one, other = build.build(spec), build.build({**spec, "seed": 4})
    assert all(a.gpus[0].uuid != b.gpus[0].uuid and a.boot_id != b.boot_id for a, b in zip(one, other, strict=True))
    assert [(a.name, a.rack, len(a.gpus), a.gpus[0].pci) for a in one] == [(b.name, b.rack, len(b.gpus), b.gpus[0].pci) for b in other]


@pytest.mark.parametrize("name", sorted(faults.registry()))
def test_every_fault_changes_the_capture_of_its_host_and_no_other_host(name, spec):
    launched = faults.registry()[name].__module__.endswith(
        ("faults_collectives", "faults_transport")
    )  # those show where the head's capture has launches
    spec = {**spec, "clusters": [{**cluster, "collectives": launched} for cluster in spec["clusters"]]}
    healthy = {node.name: node for node in build.build(spec)}
    shown = []
    for host in healthy:
        entry = {"fault": name, "hosts": host}
        faults.check(entry, set(healthy))
        try:
            faulty = {node.name: node for node in build.build({**spec, "faults": [entry]})}
        except ValueError:
            continue  # this machine has no such part
        assert [each for each in healthy if faulty[each] != healthy[each]] in ([host], [])
        seen = render.capture(faulty[host], 0.0) != render.capture(healthy[host], 0.0)
        tables = [[make(nodes.values()) for nodes in (faulty, healthy)] for make in (render.rail_map, render.switch_ports)]
        shown += [host] if seen or any(one != other for one, other in tables) else []
        if shown:
            return
    raise AssertionError("no machine shows it")


@pytest.mark.parametrize("host", ["b200-01", "gb300-01", "mi300x-01"])
def test_a_healthy_node_answers_all_that_the_collectors_ask(host, spec, captures_of, facts_of):
    for concern, envelope in facts_of(captures_of(spec)[host]).items():
        unanswered = [source["what"] for source in envelope["sources"] if source["reason"] == "not_recorded"]
        assert not unanswered, f"{concern}: no renderer answers {unanswered}"
        assert envelope["status"] == "ok", f"{concern}: {envelope['errors']}"


def test_a_hung_and_a_broken_tool(spec, captures_of):
    spec["faults"] = [
        {"fault": "hung_tool", "hosts": "b200-01", "tool": "df"},
        {"fault": "rubbish_tool", "hosts": "b200-02", "tool": "df", "prints": "?"},
    ]
    captures = captures_of(spec)
    hung, broken = (next(c for c in captures[host]["commands"] if c["argv"][0] == "df") for host in ("b200-01", "b200-02"))
    assert (hung["rc"], hung["reason"], hung["stdout"]) == (None, "timeout", "")
    assert (broken["rc"], broken["stdout"]) == (1, "?\n")


def test_a_rack_is_one_nvlink_domain_and_two_racks_are_two(spec):
    spec["clusters"] = [{**spec["clusters"][1], "nodes": 4, "racks": {"r1": 2, "r2": 2}}]
    domains = [{(gpu.cluster_uuid, gpu.clique_id) for gpu in node.gpus} for node in build.build(spec)]
    assert all(len(domain) == 1 for domain in domains)
    assert domains[0] == domains[1] != domains[2] == domains[3]


@pytest.mark.parametrize("sku", sorted(build._machines()["machines"]))
def test_every_machine_has_the_parts_of_its_profile(sku, spec):
    spec["clusters"] = [{"name": "x", "sku": sku, "transport": "roce", "scheduler": "none", "nodes": 1}]
    [node] = build.build(spec)
    values = build._profile(sku)["values"]
    assert (len(node.gpus), len(node.nics)) == (values["gpu.count"], values["nic.count"])
    for parts in (node.gpus, node.nics, node.nvmes):
        keys = [getattr(part, "pci", None) or part.name for part in parts]
        assert len(set(keys)) == len(keys) > 0
    assert {nic.gpu for nic in node.nics} == set(range(len(node.gpus))) or len(node.nics) < len(node.gpus)


def test_out_is_an_inventory_and_a_contract_of_itself(tool, spec, written, tmp_path):
    assert tool("simulate").main([str(written(spec)), str(tmp_path / "out")]) == 0
    inventory, contract = (yaml.safe_load((tmp_path / "out" / name).read_text()) for name in ("hosts.yml", "contract.yml"))
    hosts = inventory["all"]["children"]["gpu_nodes"]["hosts"]
    assert {path.parent.name for path in (tmp_path / "out").glob("*/capture.json")} == set(hosts)
    assert [cluster["name"] for cluster in contract["clusters"]] == ["b200", "gb300", "mi300x"]
    for cluster in contract["clusters"]:
        mine = [host for host in hosts.values() if host["accept_cluster"] == cluster["name"]]
        assert len(mine) == cluster["nodes"] == sum(cluster["racks"].values())
        assert {host["accept_rack"] for host in mine} == set(cluster["racks"])


def test_an_unreachable_host_has_a_capture_that_says_so(spec, captures_of):
    spec["faults"] = [{"fault": "unreachable", "hosts": "gb300-02", "reason": "no route to host"}]
    capture = captures_of(spec)["gb300-02"]
    assert capture["unreachable"] == "no route to host"
    assert not capture["commands"]
    assert json.loads(json.dumps(capture)) == capture


def cluster(**changes):
    return {"name": "a", "sku": "b200_hgx", "transport": "roce", "scheduler": "none", "nodes": 2, **changes}


BAD = [
    ("a: [", "not YAML"),
    ("[]", "(top level)"),
    ({"schema": 2, "clusters": [cluster()]}, "schema: 1 was expected"),
    ({"schema": 1, "clusters": []}, "clusters:"),
    ({"schema": 1, "clusters": [cluster(sku="b900")]}, "clusters.0.sku: no simulated machine 'b900'"),
    ({"schema": 1, "clusters": [cluster(nodes=0)]}, "clusters.0.nodes:"),
    ({"schema": 1, "clusters": [cluster(racks={"r": 3})]}, "clusters.0.racks: 3 nodes in racks, nodes says 2"),
    ({"schema": 1, "clusters": [cluster(transport="pigeon")]}, "clusters.0.transport:"),
    ({"schema": 1, "clusters": [cluster(), cluster()]}, "clusters.1.name: host names of two clusters are the same"),
    ({"schema": 1, "clusters": [cluster(colour="red")]}, "clusters.0:"),
    ({"schema": 1, "clusters": [cluster()], "faults": [{"fault": "gremlin", "hosts": "a-01"}]}, "faults.0.fault: no fault 'gremlin'"),
    (
        {"schema": 1, "clusters": [cluster()], "faults": [{"fault": "oom", "hosts": "a-03"}]},
        "faults.0.hosts: no such host in this spec: a-03",
    ),
    ({"schema": 1, "clusters": [cluster()], "faults": [{"fault": "oom", "hosts": "a-[01"}]}, "faults.0.hosts: not a node set"),
    (
        {"schema": 1, "clusters": [cluster()], "faults": [{"fault": "oom", "hosts": "a-01", "gpu": 1}]},
        "faults.0.gpu: oom has no such parameter",
    ),
    ({"schema": 1, "clusters": [cluster()], "faults": [{"fault": "xid_79", "hosts": "a-01", "gpu": "x"}]}, "faults.0.gpu: 'x' is no int"),
    ({"schema": 1, "clusters": [cluster()], "faults": [{"fault": "xid_79", "hosts": "a-01", "gpu": 8}]}, "xid_79: a-01 has no such part"),
]


@pytest.mark.parametrize(("bad", "said"), BAD, ids=[said for _, said in BAD])
def test_a_bad_spec_is_one_line_with_file_and_key(bad, said, tool, written, tmp_path, capsys):
    path = written(bad)
    assert tool("simulate").main([str(path), str(tmp_path / "out")]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert str(path) in error
    assert said in error
    assert not (tmp_path / "out").exists()


def test_a_spec_that_is_not_there(tool, tmp_path, capsys):
    assert tool("simulate").main([str(tmp_path / "none.yml"), str(tmp_path)]) == 2
    assert capsys.readouterr().err == f"simulate: {tmp_path / 'none.yml'}: No such file or directory\n"


def test_the_list_of_faults_names_each_with_its_parameters(tool, capsys):
    assert tool("simulate").main(["--faults"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[:-2]] == sorted(faults.registry())
    assert "gpu=0 width=8" in next(line for line in lines if line.startswith("gpu_half_pcie_width"))


def test_two_answers_to_one_question_are_a_bug():
    from simulation.records import command, merge

    part = {"commands": [command(["a"], "1")]}
    assert len(merge([part, part])["commands"]) == 1
    with pytest.raises(ValueError, match="two answers"):
        merge([part, {"commands": [command(["a"], "2")]}])


def test_renderers_are_all_there(root):
    """Each module render_<what>.py with render(node) is used; those that need the time or only help others are not in the list."""
    names = {function.__module__.rsplit(".", 1)[1] for function in render.RENDERERS}
    renderers = (root / "tools/simulation").glob("render_*.py")
    assert {path.stem for path in renderers if "\ndef render(node: SimNode) -> dict:" in path.read_text()} <= names
