"""What the InfiniBand tools say on the head of a simulated cluster: its leaves and spines, every host's link, managers, errors."""

from __future__ import annotations

from accept_node.collectors import ib_fabric, ib_links
from accept_node.discreet import DiscreetNode
from accept_node.node import ReplayNode
from accept_node.parsers import iblinkinfo

from . import render_rdma
from .model import SimNode
from .model_fabric import FIRST_OTHER, FIRST_UPLINK, LEAF_PORTS, SPINES, UPLINKS, end
from .records import command, tree

LANE_GBPS = {100: 25.78125, 200: 53.125, 400: 106.25, 800: 212.5}  # by the rate of four lanes
ROW = "{head:>12} {lid:>6} {port:>4}[  ] ==( {width}X {gbps:>13} Gbps {state:>6}/  LinkUp)==> {peer:>7} {peer_port:>4}[  ] "
ROW += '"{name}" ({better})\n'
OPEN = '{lid:>19} {port:>4}[  ] ==(                Down/ Polling)==>             [  ] "" ( )\n'


def render(node: SimNode) -> dict:
    """The commands of ib_fabric on the head, and of every node the GUIDs that a sweep finds it by."""
    guids = {f"{nic.name}/node_guid": render_rdma.guid(node, nic) + "\n" for nic in node.nics}
    parts = {"trees": [tree(render_rdma.ROOT, guids)]}
    up = [nic for nic in node.nics if nic.link_layer == "InfiniBand" and nic.port_state == "ACTIVE"]
    if node.fabric and node.fabric.nodes[0] is node and up:
        parts["commands"] = _commands(node, up[0])
    return parts


def _commands(node, nic) -> list:
    local, fabric = ["-C", nic.name, "-P", "1"], node.fabric
    links = _Links(fabric)
    text = links.text()
    wait = f"{3 + len(links.rows) / 4000:.2f}"
    first, last = (_errors(fabric, links, reading) for reading in (0, 1))
    unbounded = ib_fabric.NO_THRESHOLDS
    return [
        command(["iblinkinfo", *local], text, duration_s=float(wait)),
        command(["sminfo", *local], *_sminfo(fabric)),
        command(["saquery", *local, "SMIR"], _managers(fabric)) if fabric.managers else _silent(["saquery", *local, "SMIR"]),
        _tables(["saquery", *local, "PKTR"], fabric),
        _portinfo(local, render_rdma.lid(node, nic), fabric),
        *(_portinfo(local, link["lid"], fabric, foreign=link["host"].startswith("host-")) for link in _asked(node, nic, text)),
        command(["ibqueryerrors", *local, *unbounded], first, rc=1 if "Errors for" in first else 0, duration_s=float(wait)),
        command(["ibqueryerrors", *unbounded, *local], last, rc=1 if "Errors for" in last else 0, duration_s=float(wait)),
    ]


def _asked(node, nic, text) -> list:
    """The hosts that the collector will ask for a port."""
    said = {"identity": {"hostname": node.name}, "commands": [{"argv": ["iblinkinfo"], "rc": 0, "stdout": text}]}
    discreet = DiscreetNode(ReplayNode(said))
    links = ib_links.read(iblinkinfo.parse(discreet.run(["iblinkinfo"]).stdout)["ports"])["host_links"]
    own = next((link for link in links if link["lid"] == render_rdma.lid(node, nic)), None)
    return ib_fabric.others(links, own)


class _Links:
    """Rows of links: (end, end, lanes, Gb/s of a lane, state, what it could be). An end is (name, port, LID, GUID)."""

    def __init__(self, fabric):
        self.fabric = fabric
        self.lids = {name: number for number, name in enumerate(fabric.spines() + fabric.leaves(), 0x8000)}
        self.full = max((nic.rate_gbps for node in fabric.nodes for nic in node.nics), default=400)
        self.rows = [*self._hosts(), *self._others(), *self._uplinks()]

    def switch(self, name, port):
        return (name, port, self.lids[name], 0xFC6A1C0300000000 + self.lids[name])

    def _hosts(self):
        for node in self.fabric.nodes:
            for nic in node.nics:
                if nic.port_state != "ACTIVE":
                    continue
                guid = int(render_rdma.guid(node, nic).replace(":", ""), 16)
                gbps, lanes = LANE_GBPS[self.full], max(1, 4 * nic.rate_gbps // self.full)
                state, better = "Active", "Could be 4X " if lanes < 4 else " "
                if (node.name, nic.name) in self.fabric.slow:
                    gbps, better = gbps / 2, f" Could be {gbps:g} Gbps"
                if (node.name, nic.name) in self.fabric.unsettled:
                    state = "Initialize"
                host = (f"{node.name} {nic.name}", 1, render_rdma.lid(node, nic), guid)
                yield host, self.switch(*end(node, nic.name)), lanes, gbps, state, better

    def _others(self):
        leaf = self.fabric.leaves()[0]
        for number in range(self.fabric.others):
            host = (f"zeta-{number + 1:02d} mlx5_0", 1, 0xB000 + number, 0xA088C20300F00000 + number)
            yield host, self.switch(leaf, FIRST_OTHER + number), 4, LANE_GBPS[self.full], "Active", " "

    def _uplinks(self):
        for at, leaf in enumerate(self.fabric.leaves()):
            for number in range(SPINES * UPLINKS):
                if (leaf, FIRST_UPLINK + number) not in self.fabric.lost_uplinks:
                    spine, lane = divmod(number, UPLINKS)
                    top = self.switch(self.fabric.spines()[spine], at * UPLINKS + lane + 1)
                    yield self.switch(leaf, FIRST_UPLINK + number), top, 4, LANE_GBPS[self.full], "Active", " "

    def text(self) -> str:
        """iblinkinfo: hosts, then switches with all their ports."""
        ports = {name: {} for name in self.lids}
        parts = []
        for one, other, *link in self.rows:
            for here, there in ((one, other), (other, one)):
                if here[0] in ports:
                    ports[here[0]][here[1]] = _row("", here, there, *link)
                else:
                    parts.append(f"CA: {here[0]}:\n" + _row(f"0x{here[3]:016x}", here, there, *link))
        for name, lid in self.lids.items():
            parts.append(f"Switch: 0x{self.switch(name, 0)[3]:016x} {_shown(name)}:\n")
            last = max([LEAF_PORTS, *ports[name]])
            parts += [ports[name].get(port) or OPEN.format(lid=lid, port=port) for port in range(1, last + 1)]
        return "".join(parts)


def _row(head, here, there, lanes, gbps, state, better):
    return ROW.format(
        head=f"      {head}" if head else "",
        lid=here[2], port=here[1], width=lanes, gbps=f"{gbps:g}", state=state,
        peer=there[2], peer_port=there[1], name=_shown(there[0]), better=better,
    )  # fmt: skip


def _shown(name):
    return name if " " in name else f"MF0;{name}:MQM9700/U1"


def _sminfo(fabric):
    if not fabric.managers:
        return "sminfo: iberror: failed: query\n", 255
    return "sminfo: sm lid 1 sm guid 0xfc6a1c0300000001, activity count 88123 priority 14 state 3 SMINFO_MASTER\n", 0


def _record(kind, rows, inner="") -> str:
    """One record as saquery dumps it: names, dots, values."""
    lines = [f"{kind} dump:", "\t\tRID", *(f"\t\t{name:.<22}{value}" if name else f"\t\t{inner} dump:" for name, value in rows)]
    return "\n".join(lines) + "\n"


def _managers(fabric):
    states = {"master": 3, "standby": 2}
    parts = []
    for lid, state in enumerate(fabric.managers, 1):
        rows = [("LID", lid), ("", ""), ("GUID", f"0xfc6a1c03000000{lid:02d}"), ("SM_Key", "0x0000000000000000"), ("ActCount", 8800 + lid)]
        parts.append(_record("SMInfoRecord", [*rows, ("Priority", 15 - lid), ("SMState", states[state])], "SMInfo"))
    return "".join(parts)


def _silent(argv):
    return command(argv, rc=110, stderr="Query SA failed: Connection timed out\n", duration_s=3.0)


def _tables(argv, fabric):
    if not fabric.managers:
        return _silent(argv)
    if not fabric.tables_open:
        return command(argv, rc=5, stderr="ERROR: Query result returned 0x0200,  SA(SA_ERR_REQ_INVALID)\n")
    rows = [("Port", 1), ("Block", 0), ("PKey0", "0x8012"), ("PKey1", "0x7fff")]
    return command(argv, "".join(_record("PKeyTableRecord", [("LID", lid), *rows]) for lid in (64, 65, 66)))


def _portinfo(local, lid, fabric, foreign=False):
    argv = ["smpquery", *local, "portinfo", str(lid), "1"]
    if foreign and not fabric.others_answer:
        said = "smpquery: iberror: failed: operation portinfo: port info query failed\n"
        return command(argv, said, rc=255, stderr=f"ibwarn: [4011] mad_rpc: _do_madrpc failed; dport (Lid {lid})\n", duration_s=2.0)
    rows = {"Mkey": "<not displayed>", "GidPrefix": "0xfe80000000000000", "Lid": lid, "SMLid": 1, "CapMask": "0xa751e848"}
    rows |= {"MkeyLeasePeriod": 60, "LocalPort": 1, "LinkWidthActive": "4X", "LinkState": "Active", "PhysLinkState": "LinkUp"}
    rows |= {"ProtectBits": fabric.mkey_protect_bits, "LMC": 0}
    text = f"# Port info: Lid {lid} port 1\n" + "".join(f"{name + ':':.<33}{value}\n" for name, value in rows.items())
    return command(argv, text)


def _errors(fabric, links, reading) -> str:
    """ibqueryerrors without thresholds: whatever is not zero."""
    switches, counters = {}, {}
    for (switch, port), growing in fabric.growing.items():
        said = " ".join(f"[{name} == {values[reading]}]" for name, values in growing.items() if values[reading])
        if said:
            counters.setdefault(switch, []).append((port, said))
    for switch, rows in counters.items():
        guid = f"0x{links.switch(switch, 0)[3]:x}"
        lines = "".join(f"   GUID {guid} port {port}: {said}\n" for port, said in sorted(rows))
        switches[switch] = f'Errors for {guid} "{_shown(switch)}"\n' + lines
    nodes, ports = len(links.lids) + len({row[0][0] for row in links.rows}), 2 * len(links.rows)
    bad = sum(map(len, counters.values()))
    summary = f"\n## Summary: {nodes} nodes checked, {len(counters)} bad nodes found\n"
    summary += f"##          {ports} ports checked, {bad} ports have errors beyond threshold\n## Thresholds: \n## Suppressed:\n"
    return "".join(switches.values()) + summary
