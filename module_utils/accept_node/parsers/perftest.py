"""perftest (ib_write_bw, ib_read_bw, ib_send_bw, ib_*_lat), client's or server's text, or both mixed. `parse(text)` returns::

    {"test": "RDMA_Write BW" | None,  as the banner names it
     "device": "mlx5_0", "gid_index": 3, "link_type": "Ethernet" | "IB", "mtu_bytes": 4096, "qps": 1, "connection": "RC",
     "exchange": "Ethernet" | "rdma_cm", "local_gid": "::ffff:10.0.4.7", "remote_gid": ...,    None where the text does not say
     "waiting": bool,      a server that nobody had come to when the text ended
     "cuda": bool,         the buffers are those of a GPU
     "rows": [{"bytes", "iterations", "peak_gbps", "average_gbps", "message_rate_mpps", ...} or, of the latency tests,
              {"bytes", "iterations", "min_us", "max_us", "typical_us", "average_us", "stdev_us", "p99_us", "p999_us"}],
     "cut": bool,          a row that ends before its time
     "errors": [line], "cause": "", "status": 10 | None, "syndrome": "0x88" | None}

Rates are in Gb/s whatever the tool printed: its "MB/sec" are 2^20 bytes. A peak of 0.00 is a peak that was not measured (-D,
--run_infinitely); an average of 0.00 is no bandwidth either, but a test in which nothing was moved: null, and an error. The copies of
one row by client and server count once. The exit status may be 0 where `errors` is not empty. `cause` sorts the first error that can be:
`refused` (nobody listens), `peer_lost`, `completion`, `gid`, `queue_pair`, `no_device`, `port_down`, `nothing_moved`, else `failed`.

A server that was started without --report_gbits under a client with it prints Gb/s below "MB/sec": give both the option.

`parse_json(text)` reads the file of --out_json, which is no JSON (words without quotes, trailing commas): {"info": {key: text},
"results": {key: number}}, with keys and units as printed; it does not say which unit its bandwidths have.

Format: https://github.com/linux-rdma/perftest, src/perftest_parameters.c and perftest_communication.c.
"""

from __future__ import annotations

import ipaddress
import re

from . import ParseError

GBPS = {"Gb": 1.0, "MB": 8 * 1048576 / 1e9, "MiB": 8 * 1048576 / 1e9}
COLUMNS = (  # a word of the header -> key of the row
    (r"#bytes", "bytes"),
    (r"#iterations", "iterations"),
    (r"BW peak\[\w+/sec\]", "peak_gbps"),
    (r"BW average\[\w+/sec\]", "average_gbps"),
    (r"MsgRate\[Mpps\]", "message_rate_mpps"),
    (r"CPU_Util\[%\]", "cpu_pct"),
    (r"t_min\[usec\]", "min_us"),
    (r"t_max\[usec\]", "max_us"),
    (r"t_typical\[usec\]", "typical_us"),
    (r"t_avg\[usec\]", "average_us"),
    (r"t_stdev\[usec\]", "stdev_us"),
    (r"99\.9% percentile\[usec\]", "p999_us"),
    (r"99% percentile\[usec\]", "p99_us"),
    (r"tps average", "per_s"),
)
HEADER = re.compile("|".join(f"(?P<{key}>{pattern})" for pattern, key in COLUMNS))
UNIT = re.compile(r"\[(MB|MiB|Gb)/sec\]")
FIELDS = re.compile(r"(Device|Number of qps|Connection type|Mtu|Link type|GID index|Data ex\. method)\s*:\s*(\S+)")
KEYS = {"Device": "device", "Connection type": "connection", "Link type": "link_type", "Data ex. method": "exchange"}
NUMBERS = {"Number of qps": "qps", "Mtu": "mtu_bytes", "GID index": "gid_index"}
BANNER = re.compile(r"^\s*(\S.*?)\s+Test$")
GID = re.compile(r"^\s*(?:remote |local )?GID:\s*([0-9]{1,3}(?::[0-9]{1,3}){15})\s*$")
STATUS = re.compile(r"Failed status (\d{1,3})\b.*?syndrom\w* (0x[0-9a-fA-F]{1,8})")
# Wording -> cause. The first that fits a line is its sort; the first line that has one is the text's.
ERRORS = (
    (r"Couldn't connect to |[Cc]onnection refused", "refused"),
    (r"Couldn't read remote address|Unable to read (?:to|from) socket|Failed to exchange data", "peer_lost"),
    (r"Completion with error|Failed status \d", "completion"),
    (r"Incompatibility issue with GID|Failed to (?:get|query) GID|[Cc]ouldn't (?:get|query) GID|Invalid GID", "gid"),
    (r"Failed to modify QP|Unable to Connect the HCA's", "queue_pair"),
    (r"IB device \S+ not found|Did not detect devices|Unable to find the Infiniband|No IB devices found", "no_device"),
    (r"Port number \d+ state is|Couldn't set the link layer", "port_down"),
    (
        r"^\s*(?:Failed|Unable|Couldn't|Could not|ERROR|error:|Error|FATAL)\b|invalid option|unrecognized option|not supported|"
        r"Found Incompatibility|Requested memory|Cannot allocate|cuMem\w+ error|CUDA error|Killed|Segmentation fault",
        "failed",
    ),
)
ERRORS = tuple((re.compile(pattern), cause) for pattern, cause in ERRORS)
HARMLESS = re.compile(r"libibverbs: Warning|inline (?:feature|messages)|Please Try to use")
PAIR = re.compile(r'"?([A-Za-z_][\w .%]{0,60}?)"?[ \t]*:[ \t]*"?([^"{},\s][^"{},\n]{0,200})"?')
NUMBER = re.compile(r"\d{1,15}(?:\.\d{1,9})?")
MAX_ERRORS, MAX_ROWS = 20, 2000


def parse(text: str) -> dict:
    if not text.strip():
        raise ParseError("empty: perftest has printed nothing")
    found = dict.fromkeys(
        ("test", "device", "gid_index", "link_type", "mtu_bytes", "qps", "connection", "exchange", "local_gid", "remote_gid")
    )
    found.update(waiting=False, cuda=False, rows=[], cut=False, errors=[], cause="", status=None, syndrome=None)
    columns, factor, side, known = [], 1.0, None, set()
    for line in text.splitlines():
        line = line.lstrip("> \t").rstrip() if line.startswith(">") else line.rstrip()
        if "#bytes" in line:
            columns = [match.lastgroup for match in HEADER.finditer(line)]
            unit = UNIT.search(line)
            factor = GBPS[unit[1]] if unit else 1.0
        elif line.lstrip()[:1].isdigit():
            row = _row(line.split(), columns, factor)
            if row is None:
                found["cut"] |= bool(columns)
            elif tuple(row.items()) not in known and len(known) < MAX_ROWS:
                known.add(tuple(row.items()))
                found["rows"].append(row)
        else:
            side = _line(line, found, side)
    _nothing_moved(found)
    if not (found["rows"] or found["errors"] or found["waiting"] or found["test"] or found["device"]):
        raise ParseError(f"not the text of perftest: {' '.join(text.split())[:80]!r}")
    if found["rows"] or found["remote_gid"]:
        found["waiting"] = False
    return found


def _line(line, found, side):
    """Take what a line outside the table says. `side` is whose GID comes next."""
    if "Waiting for client to connect" in line:
        found["waiting"] = True
    elif "address: LID" in line:
        return "remote_gid" if "remote" in line else "local_gid"
    elif ("CUDA" in line and "Perftest doesn't" not in line) or "Using ROCm Device" in line:
        found["cuda"] = True
    gid = GID.match(line)
    if gid and side:
        found[side] = _gid(gid[1])
    banner = BANNER.match(line)
    if banner and len(line) < 100 and found["test"] is None and ("BW" in line or "Latency" in line):
        found["test"] = banner[1]
    for name, value in FIELDS.findall(line):
        if name in KEYS:
            found[KEYS[name]] = found[KEYS[name]] or value
        elif re.match(r"\d{1,6}(?!\d)", value) and found[NUMBERS[name]] is None:
            found[NUMBERS[name]] = int(re.match(r"\d+", value)[0])
    if not HARMLESS.search(line):
        _error(line, found)
    return side


def _error(line, found):
    cause = next((cause for pattern, cause in ERRORS if pattern.search(line)), None)
    if cause is None:
        return
    if len(found["errors"]) < MAX_ERRORS:
        found["errors"].append(" ".join(line.split())[:200])
    status = STATUS.search(line)
    if status and found["status"] is None:
        found["status"], found["syndrome"] = int(status[1]), status[2].lower()
    if found["cause"] in ("", "failed"):
        found["cause"] = cause


def _row(words, columns, factor):
    """A row of the table; None where it is cut or no row."""
    if len(columns) < 3 or len(words) < len(columns) - ("cpu_pct" in columns):
        return None
    row = {}
    for key, word in zip(columns, words):
        if key == "stdev_us" and re.fullmatch("-?nan", word):  # its sum of squares has overflown; the rest of the row is right
            row[key] = None
            continue
        if not NUMBER.fullmatch(word):
            return None
        row[key] = int(word) if word.isdigit() else float(word)
        if key in ("peak_gbps", "average_gbps"):
            row[key] = round(row[key] * factor, 6) or None
    return row


def _nothing_moved(found):
    for row in found["rows"]:
        if "average_gbps" in row and row["average_gbps"] is None:
            found["errors"].append(f"{row['bytes']} bytes: average 0.00, nothing was moved")
            found["cause"] = found["cause"] or "nothing_moved"
            break


def _gid(text):
    """Sixteen decimal bytes, as perftest prints a GID; the last six may be an IPv4 address behind 255:255."""
    try:
        value = ipaddress.IPv6Address(bytes(int(part) for part in text.split(":")))
    except ValueError:
        return None
    return f"::ffff:{value.ipv4_mapped}" if value.ipv4_mapped else str(value)


def parse_json(text: str) -> dict:
    begin = re.search(r'"?(?:test_info|results)"?\s*:\s*\{', text)
    if not begin:
        raise ParseError(f"no report of perftest: {' '.join(text.split())[:80]!r}")
    text = text[begin.start() :]
    start = re.search(r'"?results"?\s*:\s*\{', text)
    head, tail = (text[: start.start()], text[start.end() :]) if start else (text, "")
    info = {key.strip(): value.strip() for key, value in PAIR.findall(head)}
    results = {key.strip(): value.strip() for key, value in PAIR.findall(tail)}
    return {"info": info, "results": {key: float(value) if NUMBER.fullmatch(value) else None for key, value in results.items()}}
