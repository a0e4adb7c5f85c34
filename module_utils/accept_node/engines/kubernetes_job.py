"""Make jobs of Kubernetes, follow them, print what their speaker prints, and delete them again, whatever happens.

A program of its own: `python3 -c <this text> <order as JSON>`, the detached job of launchers/kubernetes.py. order: manifests, namespace,
selector of the pods, how many there will be, speaker (the launcher's label, or the index of a pod), pending_s, timeout_s. What this
program says itself begins with "accept: ". Exit status: that of the speaker's pod (0 or 1), 3 where pods stayed pending, 2 where nothing
could be made.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time

POLL_S = 5.0  # the API server is asked no more often than that
HOPELESS = (
    "ErrImagePull",
    "ImagePullBackOff",
    "InvalidImageName",
    "CreateContainerConfigError",
    "CreateContainerError",
    "RunContainerError",
)


class Stopped(Exception):
    """Somebody wants this to end."""


def stop(signum, frame):
    raise Stopped


def kubectl(*argv, text=None, timeout_s=60.0):
    """(exit status, what it printed, what it complained of)"""
    try:
        done = subprocess.run(
            ["kubectl", *argv],
            input=text,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            universal_newlines=True,
            timeout=timeout_s,
            check=False,
        )
    except FileNotFoundError:
        return 127, "", "kubectl: command not found"
    except subprocess.TimeoutExpired:
        return 124, "", f"kubectl {argv[0]}: no answer within {timeout_s:.0f} s"
    return done.returncode, done.stdout, " ".join(done.stderr.split())[:300]


def say(text):
    print("accept: " + text, flush=True)


def pods(order):
    """The pods as the API server shows them; None where it could not be asked."""
    code, printed, _ = kubectl("get", "pods", "--namespace=" + order["namespace"], "--selector=" + order["selector"], "-o", "json")
    try:
        return json.loads(printed)["items"] if code == 0 else None
    except (ValueError, KeyError, TypeError):
        return None


def speaks(pod, order) -> bool:
    labels, annotations = pod["metadata"].get("labels") or {}, pod["metadata"].get("annotations") or {}
    index = labels.get("batch.kubernetes.io/job-completion-index", annotations.get("batch.kubernetes.io/job-completion-index"))
    return order["speaker"] in (labels.get("accept-speaker"), index)


def waiting(pod) -> str:
    """Why a pod does not run; empty where it does, or has."""
    status = pod.get("status") or {}
    if status.get("phase") not in ("Pending", None):
        return ""
    for one in status.get("containerStatuses") or ():
        stuck = (one.get("state") or {}).get("waiting") or {}
        if stuck.get("reason") in HOPELESS:
            return "! " + (stuck.get("message") or stuck["reason"])
    said = [one.get("message") for one in status.get("conditions") or () if one.get("status") == "False" and one.get("message")]
    return "; ".join(said) or "no word of the scheduler"


def follow(order) -> int:
    began, until = time.monotonic(), time.monotonic() + order["timeout_s"]
    while time.monotonic() < until:
        time.sleep(POLL_S)
        found = pods(order)
        if found is None:
            continue
        stuck = [(pod["metadata"]["name"], why) for pod, why in ((pod, waiting(pod)) for pod in found) if why]
        late = time.monotonic() - began > order["pending_s"]
        if (stuck and (late or stuck[0][1].startswith("!"))) or (late and len(found) < order["pods"] and not any(map(over, found))):
            name, why = stuck[0] if stuck else ("pods", f"{len(found)} of {order['pods']} were made")
            say(f"pending: {len(stuck) or order['pods'] - len(found)} of {order['pods']} pods, {name}: {why.lstrip('! ')[:200]}")
            return 3
        failed = [pod["metadata"]["name"] for pod in found if (pod.get("status") or {}).get("phase") == "Failed"]
        if failed or any(speaks(pod, order) and over(pod) for pod in found):
            for name in failed:
                say(f"pod {name} failed")
            return 1 if failed else 0
    say(f"hang: not at an end after {order['timeout_s']} s")
    return 1


def over(pod) -> bool:
    return (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")


def print_logs(order):
    for pod in pods(order) or ():
        if speaks(pod, order):
            _, printed, complaint = kubectl("logs", "--namespace=" + order["namespace"], pod["metadata"]["name"], timeout_s=120.0)
            sys.stdout.write(printed)
            if complaint:
                say(complaint)
    sys.stdout.flush()


def delete(order):
    for manifest in order["manifests"]:
        where = [manifest["kind"].lower(), manifest["metadata"]["name"], "--namespace=" + order["namespace"]]
        code, _, complaint = kubectl("delete", *where, "--ignore-not-found", "--wait=false")
        if code:
            say(f"not deleted: {' '.join(where[:2])}: {complaint}")


def main(order) -> int:
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    code = 1
    try:
        text = json.dumps({"apiVersion": "v1", "kind": "List", "items": order["manifests"]})
        code, _, complaint = kubectl("create", "-f", "-", "--namespace=" + order["namespace"], text=text)
        if code:
            say(f"nothing was made: {complaint}")
            return 2
        code = follow(order)
    except Stopped:
        say("hang: ended from outside")
    finally:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)
        print_logs(order)
        delete(order)
    return code


if __name__ == "__main__":
    sys.exit(main(json.loads(sys.argv[1])))
