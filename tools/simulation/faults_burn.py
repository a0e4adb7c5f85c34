"""Named faults that only hours of load show. Each public function puts one into a node; `tools/simulate --faults` prints its docstring."""

from __future__ import annotations

from .faults_common import xid


def _own(node, gpu):
    node.gpus[gpu]  # there is such a GPU
    return node.burn.setdefault(gpu, {})


def burn_slow_gpu(node, rng, *, gpu=0, pct=10.0):
    """A GPU that is slower than the same slot of its peers, from the beginning"""
    _own(node, gpu)["slow_pct"] = pct


def burn_slow_node(node, rng, *, pct=6.0):
    """A node all of whose GPUs are slower than those of its peers"""
    for place, _ in enumerate(node.gpus):
        _own(node, place)["slow_pct"] = pct


def burn_thermal_throttle(node, rng, *, gpu=0, hotter_c=18):
    """A GPU that gets too warm and is slowed down by its hardware for it"""
    _own(node, gpu).update(throttled=True, hotter_c=hotter_c)


def burn_degrading_clock(node, rng, *, gpu=0, pct=9.0):
    """A GPU whose clock falls through the hours"""
    _own(node, gpu)["clock_drop_pct"] = pct


def burn_load_dip(node, rng, *, gpu=0):
    """A GPU that does much less for half an hour"""
    _own(node, gpu)["dip"] = True


def burn_wrong_result(node, rng, *, gpu=0, count=1):
    """A GPU with a wrong product now and then, and no error anywhere"""
    _own(node, gpu)["wrong"] = count


def burn_always_wrong(node, rng, *, gpu=0):
    """A GPU whose product is the same each time, and another than that of all others"""
    _own(node, gpu)["odd"] = True


def burn_ecc_growth(node, rng, *, gpu=0, corrected=40, uncorrected=0):
    """A GPU whose memory errors grow under load"""
    _own(node, gpu).update(corrected=corrected, uncorrected=uncorrected)


def burn_nvlink_errors(node, rng, *, gpu=0, count=3):
    """A GPU whose NVLink errors grow under load"""
    _own(node, gpu)["nvlink"] = count


def burn_power_lowered(node, rng, *, gpu=0, watts=700.0):
    """A power limit that somebody lowers in the middle of the burn-in"""
    _own(node, gpu)["lowered_w"] = watts


def burn_xid(node, rng, *, gpu=0, code=94):
    """An XID in the middle of the burn-in"""
    text = xid(node.gpus[gpu], code, "pid=4711, name=python, Contained: SM (0x1). RST: No, D-RST: No")
    node.burn["log"] = [f"4,98211,1224000000,-;{text}"]


def burn_link_flap(node, rng, *, nic=0):
    """A port that goes down and comes back under load"""
    node.burn["port"] = {f"{node.nics[nic].name}/1": {"link_downed": 1, "symbol_error": 12}}


def burn_port_errors(node, rng, *, nic=0, count=31):
    """A port whose symbol errors grow under load"""
    node.burn["port"] = {f"{node.nics[nic].name}/1": {"symbol_error": count}}


def burn_ends_early(node, rng, *, hours=3.0):
    """A node whose burn-in ends long before its time, without a word"""
    node.burn["ends_s"] = hours * 3600.0


def burn_blind(node, rng):
    """A node that could not be sampled for more than an hour"""
    node.burn["blind"] = True


def burn_exchange_breaks(node, rng, *, hours=2.0):
    """An all-to-all that breaks off after some hours, while the products go on"""
    text = "gpu0: MeshError: rank 17 has been silent for 120 s"
    node.burn.update(exchange_ends_s=hours * 3600.0, events=[(hours * 3600.0 + 120, text)])


def burn_exchange_fades(node, rng, *, pct=25.0):
    """An all-to-all that becomes slower through the hours"""
    node.burn["exchange_drop_pct"] = pct


def burn_exchange_wrong(node, rng, *, count=1):
    """A block that arrives otherwise than it was sent"""
    node.burn["exchange_wrong"] = count


def burn_soak_dip(node, rng, *, pct=45.0):
    """A soak whose bandwidth comes and goes"""
    node.burn["soak_dip_pct"] = pct


def burn_soak_wrong(node, rng, *, count=2):
    """A soak in which blocks arrive wrong"""
    node.burn["soak_wrong"] = count
