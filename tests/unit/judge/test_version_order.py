"""Orders of versions: total, and where a tool can be asked, the same as its own."""

from __future__ import annotations

import functools
import itertools
import shutil
import subprocess

import pytest
from accept_judge import version_order
from hypothesis import given, settings
from hypothesis import strategies as st

ORDERS = {"debian": version_order.debian, "rpm": version_order.rpm, "upstream": version_order.upstream}
SIGNS = ["0", "1", "2", "9", "10", "01", "a", "rc", "b", ".", ".", "~", "+", "-", "ubuntu"]
PIECES = st.lists(st.sampled_from(SIGNS), max_size=7).map(lambda signs: "".join(signs).rstrip("-"))
DEBIAN = st.builds(lambda epoch, rest: f"{epoch}1{rest}", st.sampled_from(["", "0:", "1:", "2:"]), PIECES)
RPM = st.builds(
    lambda epoch, version, release: f"{epoch}1{version}-{release}",
    st.sampled_from(["", "0:", "3:"]),
    st.lists(st.sampled_from(["0", "1", "10", "a", "rc", ".", "~", "^", "_", "+"]), max_size=6).map("".join),
    st.sampled_from(["1", "2.el9", "10.el9_4", "1~rc1", "0.1"]),
)
UPSTREAM = st.builds(
    lambda numbers, tail: ".".join(map(str, numbers)) + tail,
    st.lists(st.integers(0, 12), min_size=1, max_size=4),
    st.sampled_from(
        ["", "-rc.1", "-rc2", "rc10", "-rc8.0.20190930145003-cad42f6e0932", "-1", "a1", "amzn3.0", "+build", "-0ubuntu1~24.04.1"]
    ),
)
WRITTEN = {"debian": DEBIAN, "rpm": RPM, "upstream": UPSTREAM}


@pytest.mark.parametrize("name", sorted(ORDERS))
@settings(max_examples=300, deadline=None, derandomize=True)
@given(data=st.data())
def test_a_total_order(name, data):
    order, (a, b, c) = ORDERS[name], data.draw(st.tuples(*[WRITTEN[name]] * 3))
    assert order(a, a) == 0
    assert order(a, b) == -order(b, a)
    if order(a, b) <= 0 and order(b, c) <= 0:
        assert order(a, c) <= 0
    if order(a, b) == 0:
        assert order(a, c) == order(b, c)


@pytest.mark.skipif(shutil.which("dpkg") is None, reason="no dpkg here to ask")
@settings(max_examples=150, deadline=None, derandomize=True)
@given(a=DEBIAN, b=DEBIAN)
def test_as_dpkg_says(a, b):
    found = {-1: "lt", 0: "eq", 1: "gt"}[version_order.debian(a, b)]
    assert subprocess.run(["dpkg", "--compare-versions", a, found, b], stderr=subprocess.DEVNULL, check=False).returncode == 0, (
        a,
        found,
        b,
    )


LADDERS = {
    "debian": [
        "1.0~rc95+ds1-1",
        "1.0",
        "1.0-0ubuntu1",
        "1.0-1",
        "1.0+ds-1",
        "1.0.1-1",
        "1:0.9-1",
        "1:8.2.2+ds-0ubuntu1.9",
        "1:8.2.2+ds-0ubuntu1.10",
    ],
    "rpm": ["1.0~rc1-1", "1.0-1", "1.0^git1-1", "1.0a-1", "1.0.1-1", "1.0.10-1.el9", "1.0.10-1.el9_4", "2.0-1", "1:0.1-1"],
    "upstream": [
        *("1.0.0-rc8", "1.0.0-rc8.0.20190930145003-cad42f6e0932", "1.0.0-rc9", "1.0.0-rc91", "1.0.0", "1.0.3", "1.1.14"),
        *("1.5.0-rc.3", "1.5.0", "2.1.0", "2.1.0amzn3.0", "510.99.0", "510.100.0", "570.195.03", "570.211.01"),
    ],
}


@pytest.mark.parametrize("name", sorted(LADDERS))
def test_ladders(name):
    shuffled = list(LADDERS[name])
    shuffled.reverse()
    assert sorted(shuffled, key=functools.cmp_to_key(ORDERS[name])) == LADDERS[name]
    assert all(ORDERS[name](low, high) == -1 for low, high in itertools.pairwise(LADDERS[name]))


@pytest.mark.parametrize(("a", "b"), [("13.1", "13.1.0"), ("v1.7.7", "1.7.7"), ("1.34.1+k3s1", "1.34.1"), ("570.211.01", "570.211.1")])
def test_the_same_number_written_otherwise(a, b):
    assert version_order.upstream(a, b) == 0


@pytest.mark.parametrize("order", ORDERS.values(), ids=ORDERS)
@pytest.mark.parametrize("text", ["", " ", "N/A", "9" * 5000, "1 2", "1\n2", None, 580])
def test_rubbish_is_no_version(order, text):
    with pytest.raises(version_order.VersionError):
        order(text, "1.0")
