"""What is said of a node whose module did not answer: the words that mattered, in one line."""

from __future__ import annotations

from types import SimpleNamespace

import pytest


@pytest.fixture
def why(monkeypatch, root):
    monkeypatch.syspath_prepend(str(root / "action_plugins"))
    import accept_facts

    return accept_facts._why


def told(message):
    """What Ansible 2.19 and newer hang on every failure."""
    return SimpleNamespace(event=SimpleNamespace(msg=message))


def test_the_modules_own_words(why):
    message = "replay: /captures/n1: no capture.json there"
    assert why({"failed": True, "msg": message, "exception": told(message)}) == message


def test_the_last_line_that_the_node_printed(why):
    crashed = {
        "module_stdout": "",
        "module_stderr": "Traceback ...\nMemoryError\n",
        "exception": told("Module result deserialization failed."),
    }
    assert why(crashed) == "MemoryError"


def test_a_silent_one(why):
    assert why({"module_stdout": "", "module_stderr": "", "exception": told("Module result deserialization failed.")}).startswith(
        "Module result"
    )
