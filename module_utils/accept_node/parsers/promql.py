"""A PromQL expression as a panel or a rule has it: which series it reads, and what in it hides that they ended.

`parse(text)` -> {"query": the expression as it may be kept and asked, "evaluable": no variable of Grafana is left in it,
"selectors": [{"metric", "selector": text, "narrowed": a matcher was taken out of it}], "functions": [...], "labels": [... of by()],
"joins": "or" | "and" | "", "masks": ["or vector(0)", "last_over_time[6h]", ...], "absent": bool, "compares": bool}

`reduced(text)`: the expression with interval variables settled and with no value of a label that could name a tenant. A matcher that was
taken out leaves `removed!="1"` behind: it matches as all did that it stood for, and doing it twice changes nothing.
Format: https://prometheus.io/docs/prometheus/latest/querying/basics/
"""

from __future__ import annotations

import re

from . import ParseError

MAX = 20000
TOKEN = re.compile(
    r"""(?P<space>\s+|\#[^\n]*)|(?P<text>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|`[^`]*`)|(?P<range>\[[^\]]*\])"""
    r"""|(?P<word>[A-Za-z_:][\w:]*)|(?P<number>\d[\w.]*|\.\d\w*)|(?P<sign>=~|!~|!=|==|>=|<=|[-+*/%^=<>(){},@$.])"""
)
INTERVALS = re.compile(r"\$(?:__rate_interval|__interval|__range|\{__(?:rate_interval|interval|range)(?::\w+)?\})")
VARIABLE = re.compile(r"\$\w|\$\{|\[\[")
KEPT = ("job", "condition", "status", "resource", "state", "reason", "err_code", "xid", "severity", "alertname", "phase", "mode", "removed")
# A value of these words alone names a part of the cluster's own, nobody's work.
OWN = re.compile(
    r"(?:kube|gpu|nvidia|amd|dcgm|node|slurm|monitoring|network|operator|system|exporter|health|nhc|prometheus|prom|metrics|state|mlx|eth"
    r"|ib|device|plugin|daemonset|default|[-_.*|+()\\^$:\[\]\d])+"
)
REMOVED = 'removed!="1"'
GROUPING = ("by", "without", "on", "ignoring", "group_left", "group_right")
KEYWORDS = {"and", "or", "unless", "bool", "offset", "atan2", "inf", "nan", "start", "end", *GROUPING}
SPAN = re.compile(r"(\d+)(ms|s|m|h|d|w|y)")
SECONDS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800, "y": 31536000}
LOOKBACK_S = 300  # Prometheus looks back as far by itself: a range beyond it shows what ended


def reduced(text: str) -> str:
    """See above. Raises ParseError where the text is no expression."""
    return _joined(_tokens(text))


def parse(text: str) -> dict:
    tokens = _tokens(text)
    found = {"selectors": [], "functions": [], "labels": [], "masks": [], "compares": False}
    joins, place = set(), 0
    while place < len(tokens):
        kind, token = tokens[place]
        after = tokens[place + 1][1] if place + 1 < len(tokens) else ""
        low = token.lower()
        if kind == "word" and low in GROUPING and after == "(":
            end = _closing(tokens, place + 1)
            if low == "by":
                found["labels"] += [word for kind, word in tokens[place + 2 : end] if kind == "word"]
            place = end
        elif kind == "word" and low in ("or", "and", "unless"):
            joins.add("or" if low == "or" else "and")
            if low == "or" and _is_constant(tokens[place + 1 :]):
                found["masks"].append("or vector(...)")
        elif (kind == "word" and after == "(") or (kind == "word" and after.lower() in ("by", "without")):
            found["functions"].append(low)
        elif (kind == "word" and low not in KEYWORDS) or token == "{":
            place = _selector(tokens, place, found)
        elif token in ("==", "!=", ">", "<", ">=", "<="):
            found["compares"] = True
        elif kind == "range" and _span_s(token) > LOOKBACK_S and any(name.endswith("_over_time") for name in found["functions"]):
            found["masks"].append("a subquery over " + token)
        place += 1
    return {
        "query": _joined(tokens),
        "evaluable": not any("$" in token or token == "[[" for kind, token in tokens if kind in ("sign", "range")),
        "joins": "or" if "or" in joins else "and" if joins else "",
        "absent": bool({"absent", "absent_over_time"} & set(found["functions"])),
        **found,
        "labels": sorted(set(found["labels"])),
        "functions": sorted(set(found["functions"])),
    }


def _tokens(text) -> list:
    """[(kind, token)] of the reduced expression."""
    text = INTERVALS.sub("5m", text[:MAX])
    tokens, place = [], 0
    while place < len(text):
        match = TOKEN.match(text, place)
        if not match:
            raise ParseError("not PromQL: %r" % text[place : place + 40])
        place = match.end()
        if match.lastgroup != "space":
            tokens.append((match.lastgroup, match.group()))
    if not tokens:
        raise ParseError("empty: no expression")
    made, place = [], 0
    while place < len(tokens):
        if tokens[place][1] == "{":
            end = _closing(tokens, place, "{", "}")
            made += [("sign", "{"), *_matchers(tokens[place + 1 : end]), ("sign", "}")]
            place = end
        else:
            made.append(tokens[place])
        place += 1
    return made


def _closing(tokens, place, opening="(", closing=")") -> int:
    depth = 0
    for here in range(place, len(tokens)):
        depth += (tokens[here][1] == opening) - (tokens[here][1] == closing)
        if depth == 0:
            return here
    raise ParseError("not PromQL: a bracket without end")


def _matchers(tokens) -> list:
    """The matchers between braces, without those whose value is nobody's business or a variable of the dashboard's."""
    kept, removed = [], False
    for matcher in _split(tokens):
        label, sign, value = (*(token for _, token in matcher), "", "", "")[:3]
        if len(matcher) != 3 or sign not in ("=", "!=", "=~", "!~") or value[:1] not in "\"'`":
            raise ParseError("not PromQL: %r is no matcher" % " ".join(token for _, token in matcher)[:60])
        if VARIABLE.search(value) or value[1:-1] in (".*", ".+"):
            continue  # a dashboard's choice: as it opens, all of them
        if label == "__name__" or label in KEPT or OWN.fullmatch(value[1:-1]):
            kept.append(f"{label}{sign}{value}")
            removed |= label == "removed"
        elif not removed:
            removed = True
            kept.append(REMOVED)
    return [("matcher", ",".join(kept))] if kept else []


def _split(tokens):
    """Matchers stand between commas; one comma may follow the last. A kept text of matchers comes back in its tokens."""
    part = []
    for one in tokens:
        if one[1] == ",":
            yield part
            part = []
        else:
            part.append(one)
    if part:
        yield part


def _selector(tokens, place, found) -> int:
    """A selector begins here, with or without a name; where it ends."""
    name, braces, end = "", "", place
    if tokens[place][0] == "word":
        name = tokens[place][1]
        if end + 1 < len(tokens) and tokens[end + 1][1] == "{":
            end += 1
    if tokens[end][1] == "{":
        last = _closing(tokens, end, "{", "}")
        braces, end = _joined(tokens[end : last + 1]), last
        name = name or next(iter(re.findall(r'__name__=~?["\'`]([\w:]+)', braces)), "")
    if name or braces not in ("", "{}"):
        bare = (tokens[place][1] if tokens[place][0] == "word" else "") + (braces if braces != "{}" else "")
        found["selectors"].append({"metric": name, "selector": bare, "narrowed": REMOVED in braces})
    if end + 1 < len(tokens) and tokens[end + 1][0] == "range":
        span = _span_s(tokens[end + 1][1])
        function = next((token for kind, token in reversed(tokens[:place]) if kind == "word" and token not in KEYWORDS), "")
        if function.endswith("_over_time") and function != "absent_over_time" and span > LOOKBACK_S:
            found["masks"].append(function + tokens[end + 1][1])
        end += 1
    return end


def _span_s(text) -> float:
    """The range of `[6h]`, and the first of `[6h:1m]`."""
    return sum(int(number) * SECONDS[unit] for number, unit in SPAN.findall(text.split(":")[0]))


def _is_constant(tokens) -> bool:
    """Does an `or` lead to a number that is always there?"""
    words = [token for _, token in tokens]
    if words[:1] == ["on"]:
        words = words[words.index(")") + 1 :] if ")" in words else words
    while words[:1] == ["("]:
        words = words[1:]
    return words[:1] == ["vector"]


def _joined(tokens) -> str:
    """One space round words and comparing signs, none elsewhere."""
    text = ""
    for kind, token in tokens:
        glued = not text or token in ")},({" or kind in ("range", "matcher") or text[-1] in "({$." or (token in "$." and text[-1] != ",")
        operator = token == "(" and re.search(r"(?:[-+*/%^=<>]|\b(?:and|or|unless|by|without|on|ignoring|bool))$", text)
        text += token if glued and not operator else " " + token
    return text
