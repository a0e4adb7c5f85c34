"""report.html in a real browser: it renders, its script runs under its own policy, and an address with a filter opens that view."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
FLAGS += ["--disable-component-update", "--disable-sync", "--enable-logging=stderr", "--virtual-time-budget=2000"]

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")


@pytest.fixture(scope="module")
def report_html(tmp_path_factory) -> Path:
    from accept_judge import report

    run = tmp_path_factory.mktemp("run")
    shutil.copy(ROOT / "tests/fixtures/report/scorecard.json", run)
    report.write(run, ROOT / "roles/sla_score/templates", ["html"])
    return run / "report.html"


@pytest.fixture
def browse(report_html, tmp_path):
    def run(*arguments, fragment=""):
        command = [CHROMIUM, *FLAGS, f"--user-data-dir={tmp_path / 'profile'}", *arguments, report_html.as_uri() + fragment]
        return subprocess.run(command, capture_output=True, text=True, timeout=90, check=True)

    return run


class Rows(HTMLParser):
    """What a reader sees of the punch list: each finding's data, and whether it is shown; the count; hidden parts."""

    def __init__(self, dom):
        super().__init__()
        self.shown, self.all, self.element = [], 0, {}
        self.feed(dom)

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        if "id" in attrs:
            self.element[attrs["id"]] = attrs
        if tag == "tr" and "data-i" in attrs:
            self.all += 1
            if "off" not in (attrs.get("class") or "").split():
                self.shown.append(attrs)


def opened(browse, fragment):
    done = browse("--dump-dom", fragment=fragment)
    assert "CONSOLE" not in done.stderr, done.stderr
    count = re.search(r'id="count"[^>]*>([^<]*)<', done.stdout).group(1)
    return Rows(done.stdout), count


def findings():
    sys.path.insert(0, str(ROOT / "module_utils"))
    from accept_judge.report.view import View

    return View(json.loads((ROOT / "tests/fixtures/report/scorecard.json").read_text(encoding="utf-8"))).findings


def test_without_a_filter_every_finding_is_shown(browse):
    rows, count = opened(browse, "")
    assert len(rows.shown) == rows.all == len(findings())
    assert count == f"{rows.all} of {rows.all} findings"
    assert "hidden" not in rows.element["filter"]
    assert "hidden" in rows.element["none"]
    assert "disabled" in rows.element["clear"]


@pytest.mark.parametrize(
    ("fragment", "fits"),
    [
        ("#node=b200-03&severity=blocker", lambda f: "b200-03" in f.hosts and f.severity == "blocker"),
        ("#node=b200", lambda f: any(host.startswith("b200") for host in f.hosts)),
        ("#rack=r21&verdict=warn", lambda f: f.verdict == "warn" and any(host.startswith("gb300") for host in f.hosts)),
        ("#concern=boot&order=node", lambda f: f.concern == "boot"),
        ("#cause=gpu_pcie_degraded", lambda f: f.cause == "gpu_pcie_degraded"),
        ("#q=xid+bus", lambda f: f.checks == ["boot.xid"]),
        ("#node=%3Cscript%3E", lambda f: False),
    ],
)
def test_an_address_with_a_filter_opens_that_view(browse, fragment, fits):
    wanted = [str(place) for place, finding in enumerate(findings()) if fits(finding)]
    rows, count = opened(browse, fragment)
    assert sorted(row["data-i"] for row in rows.shown) == sorted(wanted)
    assert count.startswith(f"{len(wanted)} of {rows.all} findings")
    assert ("hidden" in rows.element["none"]) == bool(wanted)
    assert "disabled" not in rows.element["clear"]


def test_order_by_node_puts_the_findings_of_a_node_together(browse):
    rows, _ = opened(browse, "#order=node")
    first = [int(re.split("[-,]", row["data-n"])[0]) for row in rows.shown]
    assert first == sorted(first)


@pytest.mark.skipif(shutil.which("pdftotext") is None, reason="no pdftotext on this machine")
def test_paper_shows_everything_and_the_banner_on_every_sheet(browse, tmp_path):
    pdf = tmp_path / "report.pdf"
    browse("--no-pdf-header-footer", f"--print-to-pdf={pdf}", fragment="#node=b200-03")
    text = subprocess.run(["pdftotext", pdf, "-"], capture_output=True, text=True, timeout=60, check=True).stdout
    sheets = text.rstrip("\f").split("\f")
    assert len(sheets) > 3
    assert all("DEMONSTRATION" in sheet for sheet in sheets)
    words = re.sub(r"\s", "", text)
    assert "crashkernel=1G" in words  # the end of a long value that the screen folds
    assert "inventory.row_remap_pending" in words  # a finding that the filter hides
