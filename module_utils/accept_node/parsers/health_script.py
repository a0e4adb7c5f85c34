"""A health check written as a script: what it listens to, for which Xids, and what it can do to the node. Read as text, never run.

{"interpreter": str, "wires": [kmsg | kmsg_kernel | journal | file:PATH | dcgm | nvidia_smi], "asks_gpu": bool,
"xids": {"acts": [codes], "ignores": [codes], "listed": [codes]}, "any_xid": bool, "actions": [drain | cordon | label | reset | reboot],
"returns_node": bool, "needs_service": [srun | sbatch | salloc | kubectl run]}
`acts` are codes under a name that speaks of errors, `ignores` of the harmless, `listed` of neither; `any_xid`: it looks for Xids and names
no code.
"""

from __future__ import annotations

import re

from . import ParseError

MAX = 256 * 1024
WIRES = (
    (
        "kmsg_kernel",
        r"\bdmesg\b[^|;\n]*\s(?:-k\b|--kernel\b|-f\s*kern\b|--facility[= ]kern\b)|SYSLOG_FACILITY=0\b|facility\s*(?:!=|==)\s*0\b",
    ),
    ("kmsg", r"\bdmesg\b|/dev/kmsg\b"),
    ("journal", r"\bjournalctl\b|systemd\.journal|sdjournal"),
    ("dcgm", r"\bdcgmi\b|\bdcgm_agent\b|pydcgm|\bDcgm\w+\("),
    ("nvidia_smi", r"\bnvidia-smi\b|pynvml|\bnvml\w*\("),
)
FILE = re.compile(r"/var/log/(?:syslog|messages|kern\.log)\b")
ACTIONS = (
    ("drain", r"\bscontrol\b[^\n;|]*\bstate=['\"]?(?:drain|down|fail)|\bkubectl\b[^\n;|]*\bdrain\b|node-mark-offline|pbsnodes\s+-o"),
    ("cordon", r"\bkubectl\b[^\n;|]*\bcordon\b|[\"']unschedulable[\"']\s*:\s*true"),
    ("label", r"\bkubectl\b[^\n;|]*\b(?:label|taint|annotate)\b"),
    ("reset", r"\bnvidia-smi\b[^\n;|]*(?:\s-r\b|--gpu-reset\b)"),
    (
        "reboot",
        r"(?m)(?:^|[;&|]|\bsudo\b|\bthen\b|\bexec\b)\s*(?:/\S*/)?(?:reboot\b|shutdown\s+-r|systemctl\s+reboot|ipmitool\b[^\n]*power\s+(?:cycle|reset))|\bscontrol\s+reboot\b",
    ),
)
RETURNS = re.compile(r"\bscontrol\b[^\n;|]*\bstate=['\"]?(?:resume|idle|undrain)|\bkubectl\b[^\n;|]*\buncordon\b|node-mark-online", re.I)
SERVICE = re.compile(r"\b(srun|sbatch|salloc|kubectl\s+run)\b")
NAMED = re.compile(
    r"(?<![\w-])([A-Za-z_]*xids?(?:_[A-Za-z_]*)?[A-Za-z_]*)\s*(?:\+?=|:)\s*([\[({\"']|(?:frozenset|set|list|tuple)\(\s*[\[({]?)?", re.I
)
HARMLESS = re.compile(r"ignor|skip|benign|harmless|allow|warn|exclu|user|app|soft|noncrit|non_crit|minor", re.I)
HARMFUL = re.compile(r"fatal|crit|error|_ec\b|drain|bad|fail|hard|reboot|reset|watch|serious", re.I)
GROUP = re.compile(r"xid[^\n]{0,40}?\((?:\?:)?(\d{1,3}(?:\|\d{1,3})+)\)", re.I)
NUMBER = re.compile(r"(?<![\w.-])(\d{1,3})(?![\w.-])")
DIAG = re.compile(r"\bdcgmi\s+diag\b(?:[^\n;|&]|&&){0,80}?(?:-r|--run)[= ]?\s*[\"']?([1-4]|short|medium|long|xlong)\b(?![^\n]*&\s*$)", re.M)
LEVELS = {"short": 1, "medium": 2, "long": 3, "xlong": 4}
SLEEP, SPAN = re.compile(r"\bsleep\s+(\d{1,6}(?:\.\d{1,3})?)([smhd]?)\b"), {"s": 1, "m": 60, "h": 3600, "d": 86_400}
CLOSING = {"[": "]", "(": ")", "{": "}", '"': '"', "'": "'"}


def parse(text: str) -> dict:
    text = text[:MAX]
    if not text.strip():
        raise ParseError("empty: no script")
    first = text.split("\n", 1)[0]
    if not first.startswith("#!") or "\x00" in text or text.count("\ufffd") > 20:
        raise ParseError("not a script: what it does cannot be read from its text")
    words = first[2:].split()
    if not words:
        raise ParseError("not a script: no interpreter is named")
    interpreter = words[-1 if words[0].endswith("/env") else 0].rsplit("/", 1)[-1]
    return {"interpreter": interpreter[:40], **scan("\n".join(map(_code, text.split("\n")[1:])))}


def parse_steps(text: str) -> dict:
    """What of a script takes long: {"diag_level": the highest that dcgmi diag is run at | None, "sleep_s": its longest sleep}"""
    if not text.strip():
        raise ParseError("empty: no script")
    code = "\n".join(map(_code, text[:MAX].split("\n")))
    levels = [LEVELS.get(level) or int(level) for level in DIAG.findall(code)]
    sleeps = [float(number) * SPAN[unit or "s"] for number, unit in SLEEP.findall(code)]
    return {"diag_level": max(levels, default=None), "sleep_s": max(sleeps, default=0.0)}


def split(text: str, paths) -> dict:
    """What `head -v` printed, file by file: {path: text} of those of `paths` that it could read, in the order asked."""
    starts, at = [], 0
    for path in paths:
        header = "==> " + path + " <==\n"
        place = 0 if not starts and text.startswith(header) else text.find("\n" + header, at)
        if place >= 0 and (starts or text.startswith(header)):
            at = place + len(header) + bool(starts)
            starts.append((path, place, at))
    ends = [place for _, place, _ in starts[1:]] + [len(text)]
    return {path: text[start:end] for (path, _, start), end in zip(starts, ends)}


def scan(code: str) -> dict:
    """The same of a command line, or of code without comments."""
    wires = [name for name, pattern in WIRES if re.search(pattern, code)]
    if "kmsg_kernel" in wires and "kmsg" in wires:
        wires.remove("kmsg")  # it reads the ring buffer, and of that the kernel's own records alone
    wires += sorted({"file:" + path for path in FILE.findall(code)})
    xids = _xids(code)
    found = any(xids.values())
    return {
        "wires": wires,
        "asks_gpu": "nvidia_smi" in wires,
        "xids": xids,
        "any_xid": bool(re.search(r"\bXid\b|NVRM", code)) and not found,
        "actions": [name for name, pattern in ACTIONS if re.search(pattern, code, re.I)],
        "returns_node": RETURNS.search(code) is not None,
        "needs_service": sorted({" ".join(name.split()) for name in SERVICE.findall(code)}),
    }


def _code(line):
    """A line without its comment."""
    return "" if line.lstrip().startswith(("#", "//")) else re.split(r"\s#\s", line, maxsplit=1)[0]


def _xids(code) -> dict:
    found = {"acts": set(), "ignores": set(), "listed": set()}
    for match in NAMED.finditer(code):
        name, opening = match.group(1), (match.group(2) or "")[-1:]
        rest = code[match.end() : match.end() + 2000]
        body = rest.split(CLOSING[opening], 1)[0] if opening in CLOSING else rest.split("\n", 1)[0] if not opening else ""
        codes = {int(number) for number in NUMBER.findall(body)}
        where = "ignores" if HARMLESS.search(name) else "acts" if HARMFUL.search(name) else "listed"
        found[where] |= codes - {0}
    for group in GROUP.findall(code):
        found["acts"] |= {int(number) for number in group.split("|")}
    found["listed"] -= found["acts"] | found["ignores"]
    return {key: sorted(codes) for key, codes in found.items()}
