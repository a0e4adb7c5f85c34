"""The wrapper of accept_facts, for the module that asks the monitoring."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from accept_facts import ActionModule  # noqa: F401
