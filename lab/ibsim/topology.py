"""A two-level InfiniBand fabric as ibsim reads it (the form of ibnetdiscover): two spines, four leaves, ten hosts of one port each.

Eight hosts are ours (gpu001 to gpu008), two belong to somebody else (zeta01, zeta02). Faults that a fabric has from the start are put in
here; those that come while it runs are sent to the simulator's console (fabric.py).
"""

from __future__ import annotations

SPINES = ("spine01", "spine02")
LEAVES = ("leaf01", "leaf02", "leaf03", "leaf04")
HOSTS = {leaf: tuple(f"gpu{2 * at + number:03d}" for number in (1, 2)) for at, leaf in enumerate(LEAVES)}
OTHERS = ("zeta01", "zeta02")  # on the third port of the last two leaves
OURS = tuple(host for pair in HOSTS.values() for host in pair)
SWITCH_PORTS = 16
FIRST_UPLINK = 9  # two to each spine


def guid(name: str) -> int:
    """Of a switch or of a host's device; its port has the next one."""
    kind = {"spi": 0x100, "lea": 0x200, "gpu": 0x1000, "zet": 0x2000}[name[:3]]
    return 0x0002C90300000000 + kind + 0x10 * (int(name.lstrip("abcdefghijklmnopqrstuvwxyz")) - 1)


def node_id(name: str) -> str:
    """As ibsim and its clients name a node."""
    return f"{'S' if name[:3] in ('spi', 'lea') else 'H'}-{guid(name):016x}"


def places() -> dict:
    """Host -> (leaf, port), as planned."""
    planned = {host: (leaf, port) for leaf, pair in HOSTS.items() for port, host in enumerate(pair, 1)}
    return {**planned, OTHERS[0]: ("leaf03", 3), OTHERS[1]: ("leaf04", 3)}


def render(swapped=(), narrow=()) -> str:
    """The fabric's text. `swapped`: pairs of hosts plugged in for each other; `narrow`: hosts whose link is one lane wide."""
    at = places()
    for one, other in swapped:
        at[one], at[other] = at[other], at[one]
    links = {end: host for host, end in at.items()}
    parts = [_switch(leaf, _leaf_lines(leaf, links, narrow)) for leaf in LEAVES]
    parts += [_switch(spine, _spine_lines(spine)) for spine in SPINES]
    return "\n".join(parts + [_host(host, *at[host], narrow) for host in sorted(at)])


def _switch(name, lines):
    number = guid(name)
    head = f"vendid=0x2c9\ndevid=0xd2f0\nsysimgguid=0x{number + 8:x}\nswitchguid=0x{number:x}({number:x})\n"
    return head + f'Switch\t{SWITCH_PORTS} "{node_id(name)}"\t\t# "{name}" enhanced port 0 lid 0 lmc 0\n' + "".join(lines)


def _leaf_lines(leaf, links, narrow):
    for port in range(1, FIRST_UPLINK):
        host = links.get((leaf, port))
        if host:
            yield f'[{port}]\t"{node_id(host)}"[1]({guid(host) + 1:x})\t\t# "{host} mlx5_0" lid 0 {_rate(host, narrow)}\n'
    for number, spine in enumerate(SPINES):
        for lane in (0, 1):
            other = 2 * LEAVES.index(leaf) + lane + 1
            yield f'[{FIRST_UPLINK + 2 * number + lane}]\t"{node_id(spine)}"[{other}]\t\t# "{spine}" lid 0 4xHDR\n'


def _spine_lines(spine):
    for number, leaf in enumerate(LEAVES):
        for lane in (0, 1):
            other = FIRST_UPLINK + 2 * SPINES.index(spine) + lane
            yield f'[{2 * number + lane + 1}]\t"{node_id(leaf)}"[{other}]\t\t# "{leaf}" lid 0 4xHDR\n'


def _host(host, leaf, port, narrow):
    number = guid(host)
    return (
        f"vendid=0x2c9\ndevid=0x101b\nsysimgguid=0x{number + 8:x}\ncaguid=0x{number:x}\n"
        f'Ca\t1 "{node_id(host)}"\t\t# "{host} mlx5_0"\n'
        f'[1]({number + 1:x})\t"{node_id(leaf)}"[{port}]\t\t# lid 0 lmc 0 "{leaf}" lid 0 {_rate(host, narrow)}\n'
    )


def _rate(host, narrow):
    return "1xHDR" if host in narrow else "4xHDR"


def partitions() -> str:
    """Ours are full members of 0x8001, the others of 0x8002; all are limited members of the default partition and of the storage's."""
    ours = ", ".join(f"0x{guid(host) + 1:x}" for host in OURS)
    others = ", ".join(f"0x{guid(host) + 1:x}" for host in OTHERS)
    return (
        "Default=0x7fff, ipoib, rate=16, mtu=5 : ALL=limited, SELF=full, ALL_SWITCHES=full;\n"
        f"ours=0x0001, ipoib, defmember=full : {ours};\n"
        f"others=0x0002, defmember=full : {others};\n"
        "storage=0x0010 : ALL=limited;\n"
    )
