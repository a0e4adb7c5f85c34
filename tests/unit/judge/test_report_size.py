"""A thousand nodes: the report stays small enough to send and to open."""

from __future__ import annotations

import time

from accept_judge import report
from report_sample import TEMPLATES, sample, synthetic


def test_a_thousand_nodes(capsys):
    card = synthetic(1000, 150)
    bad = sum(row["verdict"] in ("fail", "warn") for check in card["checks"] for row in check["rows"])
    start = time.perf_counter()
    texts = report.render(card, TEMPLATES)
    seconds = time.perf_counter() - start
    sizes = {name: len(text.encode()) for name, text in texts.items()}
    with capsys.disabled():
        print(
            f"\n1,000 nodes x 150 checks, {bad} failing rows: {seconds:.2f} s, "
            + ", ".join(f"{n} {s / 1e6:.1f} MB" for n, s in sizes.items())
        )
    assert bad > 2000
    assert sizes["report.html"] < 15_000_000
    assert texts["report.html"].count('data-i="') < bad + 1000


def test_rows_of_what_passed_do_not_grow_with_the_nodes():
    def rows(hosts):
        card = synthetic(hosts, 20, odd_every=10**9)
        return report.render(card, TEMPLATES, ["html"])["report.html"].count("<tr") - hosts

    racks = (1000 - 200) / 18
    assert rows(1000) - rows(200) <= racks + 10


def test_twenty_two_nodes(capsys):
    card = sample()
    start = time.perf_counter()
    report.render(card, TEMPLATES)
    with capsys.disabled():
        print(f"\n22 nodes: {time.perf_counter() - start:.3f} s")
