"""What nccl-tests and rccl-tests print on a simulated cluster, the library's log before the table: for each launch that a sweep asks
of the head, and for those that its search for a slow node comes to ask. Only where the spec says `collectives: true`.
"""

from __future__ import annotations

import re

from accept_judge import culprit, culprit_plan, sweep_facts, sweep_plan
from accept_judge.curves import factor
from accept_node import collective_engines as engines
from accept_node.collective_rows import sizes as sizes_of
from accept_node.collectives import recorded_as

from . import model_collectives as model
from .model_scheduler import is_head
from .records import command, hung

PROGRAMS = {name: f"{name}_perf" for name in model.SHARES}
TITLES = (
    "#                                                              out-of-place                       in-place          \n"
    "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong\n"
    "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)       \n"
)
REDUCED = ("all_reduce", "reduce_scatter")
LIBRARY = {"nvidia": ("NCCL", "2.28.9+cuda13.0", "2.17.6"), "amd": ("RCCL", "2.22.3", "2.13.0")}
ASKED = {"repeats": 1, "budget_minutes": 10**6}


def render(node) -> dict:
    if not is_head(node) or not node.control.collectives:
        return {}
    members = {one.name: one for one in node.control.nodes if not one.unreachable}
    facts = _facts(node, members)
    one = sweep_plan.cluster(node.cluster, facts, ASKED, "full")
    said = {}
    for batch in one["batches"]:
        for launch in batch["launches"]:
            _say(said, facts["engine"], launch, members)
    for launch in _searched(one, facts, members):
        _say(said, facts["engine"], launch, members)
    return {"commands": list(said.values())}


def _facts(head, members) -> dict:
    """As sweep_facts has them of this cluster."""
    joined = {name: one for name, one in members.items() if "nvl72" in one.sku and "nvidia-smi" not in {*one.hung_tools, *one.broken_tools}}
    up = [[nic.name for nic in one.nics if nic.port_state == "ACTIVE"] for one in members.values()]
    return {
        "head": head.name,
        "engine": sweep_facts.ENGINES[head.vendor],
        "launcher": sweep_facts.LAUNCHERS[head.scheduler],
        "ranks_per_node": len(head.gpus),
        "placement": {name: {"rack": one.rack or None, "leaf": None} for name, one in members.items()},
        "domains": {name: domain for name, one in joined.items() if (domain := model.domain_of(one))},
        "rails": max(up, key=up.count) if all(set(names) <= set(max(up, key=up.count)) for names in up) else [],
        "recipe": {"NCCL_IGNORE_CPU_AFFINITY": "1"},  # any: that there is one makes the mode `ours`
        "provider": {},
    }


def _searched(one, facts, members):
    """The launches of the search that each collective's slow worlds call for."""
    for collective in one["collectives"]:
        search = {"cluster": one["name"], "plan": sweep_plan._search(one), "rounds": [], "collective": collective}
        outcomes = []
        while True:
            wanted, _ = culprit.next_round(search["plan"], outcomes)
            if not wanted:
                break
            rates = []
            for found in wanted:
                mode = culprit_plan.MODES[found.stage]
                mode = mode if mode in one["modes"] else "ours"
                nodes, ranks = [members[name] for name in found.nodes], len(found.nodes) * facts["ranks_per_node"]
                size = sweep_plan.SEARCH_BYTES
                yield {"collective": collective, "mode": mode, "nodes": list(found.nodes), "min_bytes": size, "max_bytes": size,
                       "ranks_per_node": facts["ranks_per_node"], "env": one["modes"][mode],
                       "iterations": 20, "warmup": 5, "rails": list(found.rails)}  # fmt: skip
                stuck = model.hangs_at(collective, nodes)
                took = model.time_us(collective, mode, nodes, ranks, size, _repeats(nodes)[-1], found.rails)
                rates.append(None if stuck else factor(collective, ranks) * size / took / 1000)
            outcomes.append(rates)


def _say(said, engine, launch, members):
    """One record of the launch for any repeat; a sweep's says more sizes than a search's, and stays."""
    key = (*recorded_as(engine, launch), "*")
    if key in said:
        return
    nodes = [members[name] for name in launch["nodes"]]
    for repeat in _repeats(nodes):
        argv = [*key[:-1], repeat]
        said[tuple(argv)] = _launch(argv, nodes, launch, repeat)


def _repeats(nodes) -> str:
    """For which repeats there is a record of its own; the last is that of the first repeat, the only one of a search."""
    differ = len(nodes) > 1 and any({"jitter", "passing"} & set(node.sweep) for node in nodes)
    return "*210" if differ else "*"


def _launch(argv, nodes, launch, repeat):
    sizes = sizes_of(launch["min_bytes"], launch["max_bytes"], engines.FACTOR)
    stuck = model.hangs_at(launch["collective"], nodes, launch["mode"])
    stuck = (stuck if stuck in sizes else sizes[0]) if stuck else None
    text = _altered("".join(_head(nodes, launch)), nodes) + _rows(
        nodes, launch, [size for size in sizes if stuck is None or size < stuck], repeat
    )
    if stuck is not None:
        return hung(argv, text + _begun(launch, stuck), timeout_s=180.0)
    wrong = model.wrong(nodes)
    tail = f"# Out of bounds values : {len(sizes) * 2 if wrong else 0} {'FAILED' if wrong else 'OK'}\n# Avg bus bandwidth    : "
    return command(argv, f"{text}{tail}{_average(nodes, launch, sizes, repeat):.3f}\n#\n", rc=1 if wrong else 0, duration_s=38.0)


def _head(nodes, launch):
    """The benchmark's own lines, and the library's."""
    _, library, tests = LIBRARY[nodes[0].vendor]
    word = LIBRARY[nodes[0].vendor][0].lower()
    number = "".join(f"{int(part):02d}" for part in library.split("+")[0].split(".")).lstrip("0")
    yield f"# {word}-tests version {tests} {word}-headers={number} {word}-library={number}\n"
    yield f"# Collective test starting: {PROGRAMS[launch['collective']]}\n"
    yield (
        f"# nThread 1 nGpus 1 minBytes {launch['min_bytes']} maxBytes {launch['max_bytes']} step: 2(factor) "
        f"warmup iters: {launch['warmup']} iters: {launch['iterations']} agg iters: 1 validation: 1 graph: 0\n#\n# Using devices\n"
    )
    rank = 0
    for node in nodes:
        for gpu in node.gpus[: launch["ranks_per_node"]]:
            where = f"on {node.name:>10} device {gpu.index:2} [{gpu.pci.rpartition('.')[0]}] {gpu.name}"
            yield f"#  Rank {rank:2} Group  0 Pid {21000 + rank:6} {where}\n"
            rank += 1
    yield from _log(nodes, launch, library)
    yield "#\n" + TITLES


def _log(nodes, launch, library):
    """NCCL_DEBUG=INFO of every rank: version, network, what joins it to its neighbours."""
    word, many, rank = LIBRARY[nodes[0].vendor][0], len(nodes) > 1, 0
    joined = many and model.joined(launch["mode"], nodes)
    sockets = model.over_sockets(launch["mode"], nodes)
    ranks = len(nodes) * launch["ranks_per_node"]
    for node in nodes:
        layer = "IB" if node.transport == "infiniband" else "RoCE"
        only = launch.get("rails")
        rails = [nic for nic in node.nics if nic.port_state == "ACTIVE" and (not only or nic.name in only)]
        broken = sockets and node.sweep.get("sockets")
        hcas = " ".join(f"[{number}]{nic.name}:1/{layer}" for number, nic in enumerate(rails))
        for gpu in node.gpus[: launch["ranks_per_node"]]:
            say = f"{node.name}:{21000 + rank}:{21400 + rank} [{gpu.index}] NCCL INFO "
            yield f"{say}{word} version {library}\n"
            if broken:
                yield f"{say}NET/IB : No device found.\n{say}NET/Socket : Using [0]eno1:{node.name}<0>\n{say}Using network Socket\n"
            else:
                yield f"{say}NET/IB : Using {hcas} [RO]; OOB eno1:{node.name}<0>\n{say}Using network IB\n"
            if joined:
                yield f"{say}MNNVL 1 cliqueId 0x1 cliqueSize {ranks} cliqueRank {rank} nvlDomainSize {ranks}\n"
                yield f"{say}Channel 00/0 : {rank}[{gpu.index}] -> {(rank + 1) % ranks}[0] via P2P/MNNVL\n"
            else:
                places = f"localRanks {launch['ranks_per_node']} localRank {gpu.index} MNNVL 0"
                yield f"{say}comm 0x5581 rank {rank} nRanks {ranks} nNodes {len(nodes)} {places}\n"
                yield f"{say}Channel 00/0 : {rank}[{gpu.index}] -> {(rank + 1) % ranks}[0] via P2P/CUMEM\n"
            if many and not joined:
                via = "NET/Socket/0" if sockets else f"NET/IB/{gpu.index}/GDRDMA"
                if not sockets and rails:
                    place = f"IbDev {gpu.index % len(rails)} Port 1 qpn {500 + rank} mtu 5"
                    where = (
                        f"GID {_gid(node)} (0/{rank % 250 + 1:X}00140AFFFF0000)"
                        if layer == "RoCE"
                        else f"LID {10 + rank} subnet-prefix 254  FLID 0"
                    )
                    yield f"{say}NET/IB: NCCL Dev {gpu.index % len(rails)} {place} {where} fifoRkey=0x1b9e fifoLkey=0x1b9e\n"
                yield f"{say}Channel 00/0 : {(rank - 1) % ranks}[0] -> {rank}[{gpu.index}] [receive] via {via}\n"
            rank += 1


def _altered(text, nodes) -> str:
    """The log with what the nodes' faults make of their own lines."""
    for node in nodes:
        for pattern, put in node.sweep.get("log", ()):
            lines = text.splitlines(keepends=True)
            text = "".join(re.sub(pattern, put, line) if line.startswith(node.name + ":") else line for line in lines)
    return text


def _gid(node) -> int:
    """The index of the first routable RoCE v2 address, as the library chooses it."""
    return 3


def _rows(nodes, launch, sizes, repeat) -> str:
    ranks = len(nodes) * launch["ranks_per_node"]
    bus, wrong = factor(launch["collective"], ranks), model.wrong(nodes)
    lines = []
    lost = {node.sweep.get("missing") for node in nodes if len(nodes) > 1}
    for size in [size for size in sizes if size not in lost]:
        out = model.time_us(launch["collective"], launch["mode"], nodes, ranks, size, repeat, launch.get("rails") or ())
        sides = "".join(
            f" {_us(took):>8} {size / took / 1000:7.2f} {bus * size / took / 1000:7.2f} {wrong:>6}" for took in (out, 0.995 * out)
        )
        lines.append(f"{_begun(launch, size)} {sides}\n")
    return "".join(lines)


def _begun(launch, size) -> str:
    """What stands before a size is measured."""
    return f"{size:>12}  {size // 4:>12}     float  {'sum' if launch['collective'] in REDUCED else 'none':>6}      -1"


def _us(took) -> str:
    """As the tool prints a time: four digits or so."""
    return f"{took:.2f}" if took < 1000 else f"{took:.1f}" if took < 10000 else f"{took:.0f}"


def _average(nodes, launch, sizes, repeat) -> float:
    ranks = len(nodes) * launch["ranks_per_node"]
    bus = factor(launch["collective"], ranks)
    world = launch["collective"], launch["mode"], nodes, ranks
    rates = [bus * size / model.time_us(*world, size, repeat, launch.get("rails") or ()) / 1000 for size in sizes]
    return sum(rates) / len(rates)
