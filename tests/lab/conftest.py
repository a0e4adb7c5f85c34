"""What the lab's tests share. Each part that cannot start here skips its tests and says why."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "lab" / name) for name in ("ibsim", "network", "vm")]

import fabric as ibsim  # noqa: E402
import machine as virtual  # noqa: E402
import nodes as namespaces  # noqa: E402


def pytest_configure(config):
    config.addinivalue_line("markers", "lab: runs real tools against simulated parts; make lab")


@pytest.fixture(scope="module")
def fabric(tmp_path_factory):
    """Starts a simulated fabric: fabric(swapped=..., narrow=...); the last one is stopped at the end."""
    reason = ibsim.lacking()
    if reason:
        pytest.skip(reason)
    made = ibsim.Fabric(tmp_path_factory.mktemp("lab") / "ibsim")

    def start(**faults):
        made.up(**faults)
        os.environ["ACCEPT_LAB_IBSIM"] = str(made.folder)
        return made

    yield start
    made.down()
    os.environ.pop("ACCEPT_LAB_IBSIM", None)


@pytest.fixture(scope="module")
def spaces(tmp_path_factory):
    """Makes nodes in network namespaces: spaces(4), or spaces(2, prefix, subnet); they are gone at the end."""
    reason = namespaces.lacking()
    if reason:
        pytest.skip(reason)
    every = []

    def make(*arguments):
        made = namespaces.Nodes(tmp_path_factory.mktemp("nodes"), *arguments)
        every.append(made)
        made.down()
        try:
            made.up()
        except subprocess.CalledProcessError as error:
            pytest.skip(f"no bridge of namespaces can be made: {error.stderr.strip()}")
        return made

    yield make
    for made in every:
        made.down()


@pytest.fixture(scope="session")
def machines(tmp_path_factory):
    """Two virtual machines for all tests of a session, vm1 and vm2, addressed; a test that changes them puts things right again.

    After machines["vm1"].reboot() machines.address(machines["vm1"]) gives addresses and RDMA devices back.
    """
    reason = virtual.lacking()
    if reason:
        pytest.skip(reason)
    try:
        virtual.image()
    except RuntimeError as error:
        pytest.skip(str(error))
    made = virtual.Pair(tmp_path_factory.mktemp("machines") / "vm")
    yield made.up()
    made.down()
