"""Judge one run's folder and nothing else: the process that the benchmark times and weighs. Usage: judge_once.py RUN_DIR"""

from __future__ import annotations

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "module_utils"))

from accept_judge import scorecard  # noqa: E402

run_dir = Path(sys.argv[1])
card = scorecard.score(run_dir, ROOT / "standards", run_dir / "contract.yml")
(run_dir / "scorecard.json").write_text(json.dumps(card, indent=1))
