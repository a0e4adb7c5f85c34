"""Where the tests find the code and the published outputs."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "module_utils"), str(ROOT / "tools")]

try:
    import ansible.module_utils
except ImportError:  # the node code's tests also run under Python 3.8, where nothing is installed
    pass
else:
    ansible.module_utils.__path__.append(str(ROOT / "module_utils"))


@pytest.fixture(scope="session")
def root() -> Path:
    return ROOT


@pytest.fixture(scope="session")
def corpus() -> Path:
    """Published raw tool outputs; they are read in place and are no part of the project."""
    folder = ROOT.parent / "shared" / "corpus"
    if not folder.is_dir():
        pytest.skip(f"no published outputs at {folder}")
    return folder
