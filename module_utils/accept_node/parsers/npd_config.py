"""node-problem-detector: the JSON of one monitor, a system log monitor or a custom plugin monitor (their documents in the project).

{"plugin": "kmsg" | "journald" | "filelog" | "custom", "source": str | None, "log_path": str | None, "journal_unit": str | None,
"interval_s", "timeout_s": float | None (custom plugins), "lookback_s": float | None, "conditions": [types],
"rules": [{"type": "permanent" | "temporary", "condition", "reason": str | None, "pattern": str | None, "path": str | None, "timeout_s"}]}
A permanent rule sets a condition of the node, a temporary one makes an event; neither fences the node by itself.
"""

from __future__ import annotations

from ..loose_json import strict
from ..recurrence import span_s
from . import ParseError

PLUGINS = ("kmsg", "journald", "filelog", "custom")


def parse(text: str) -> dict:
    if not text.strip():
        raise ParseError("empty: no configuration of node-problem-detector")
    document = strict(text)
    if document.get("plugin") not in PLUGINS:
        raise ParseError("no monitor: plugin is none of " + ", ".join(PLUGINS))
    rules, conditions = document.get("rules"), document.get("conditions")
    if not isinstance(rules, list) or not all(isinstance(rule, dict) for rule in rules):
        raise ParseError("no list of rules")
    config = document.get("pluginConfig") if isinstance(document.get("pluginConfig"), dict) else {}
    return {
        "plugin": document["plugin"],
        "source": _text(document.get("source")),
        "log_path": _text(document.get("logPath")),
        "journal_unit": _text(config.get("source")),
        "interval_s": span_s(_text(config.get("invoke_interval"))),
        "timeout_s": span_s(_text(config.get("timeout"))),
        "lookback_s": span_s(_text(document.get("lookback"))),
        "conditions": [_text(one.get("type")) for one in conditions if isinstance(one, dict)] if isinstance(conditions, list) else [],
        "rules": [
            {
                **{key: _text(rule.get(key)) for key in ("type", "condition", "reason", "pattern", "path")},
                "timeout_s": span_s(_text(rule.get("timeout"))),
            }
            for rule in rules
        ],
    }


def _text(value):
    return value if isinstance(value, str) and value else None
