"""A stand-in for perftest where there is no RDMA hardware: its options, its TCP exchange, its table; no traffic.

Usage: standin.py TOOL SPEED.json [perftest's arguments]. SPEED.json of a node says what its rails do: {"mlx5_0": 180.0, "mlx5_1": "hang"};
a pair is as fast as its slower end. Both ends tell each other, as perftest's ends exchange their addresses.
"""

from __future__ import annotations

import argparse
import json
import socket
import sys
import time
from pathlib import Path

LINE = "-" * 87
TITLES = {"ib_write_bw": "RDMA_Write BW Test", "ib_read_bw": "RDMA_Read BW Test", "ib_write_lat": "RDMA_Write Latency Test"}


def main() -> int:
    tool, speeds = sys.argv[1], Path(sys.argv[2])
    if "--help" in sys.argv or "--version" in sys.argv:
        print("Version: 6.06" if "--version" in sys.argv else "  -d, --ib-dev=<dev>  Use IB device <dev>")
        return 0
    parser = argparse.ArgumentParser()
    for flag in ("-d", "-s", "-q", "-D", "-n", "-p", "-x", "--tclass"):
        parser.add_argument(flag)
    parser.add_argument("-F", action="store_true")
    parser.add_argument("--report_gbits", action="store_true")
    parser.add_argument("peer", nargs="?")
    args = parser.parse_args(sys.argv[3:])
    own = (json.loads(speeds.read_text()) if speeds.exists() else {}).get(args.d, 391.5)
    try:
        other = _exchange(args, own)
    except ConnectionRefusedError:
        print(f"Couldn't connect to {args.peer}:{args.p}\nUnable to open file descriptor for socket connection", file=sys.stderr)
        return 1
    print(
        f"{LINE}\n                    {TITLES[tool]}\n Dual-port       : OFF\t\tDevice         : {args.d}\n Link type       : IB\n{LINE}",
        flush=True,
    )
    if "hang" in (own, other):
        time.sleep(600)
    time.sleep(min(float(args.D or 0.2), 1.0))
    if tool.endswith("_lat"):
        print(" #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]", end="")
        print("   99% percentile[usec]   99.9% percentile[usec] ")
        print(" 2       1000          1.80           6.61         1.90     1.95        0.07   2.10    4.31")
    else:
        rate = min(float(own), float(other))
        print(" #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]")
        print(f" {args.s}    20000           0.00               {rate:.2f} \t\t   {rate / 8388.608:.6f}\n{LINE}")
    return 0


def _exchange(args, own):
    """Tell the other end and hear it."""
    if args.peer:
        with socket.create_connection((args.peer, int(args.p)), timeout=10) as link:
            return _talk(link, own)
    print("\n************************************\n* Waiting for client to connect... *\n************************************", flush=True)
    with socket.create_server(("", int(args.p))) as server:
        link, _ = server.accept()
        with link:
            return _talk(link, own)


def _talk(link, own):
    link.sendall(json.dumps(own).encode() + b"\n")
    return json.loads(link.makefile().readline())


if __name__ == "__main__":
    sys.exit(main())
