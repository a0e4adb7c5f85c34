"""The programs that slurmd runs on this node (health check, prolog, epilog, reboot): who could change them, and what their text says.

The paths are the node's own answer, so each is looked at before it is opened: absolute, without `..`, a regular file, and neither it nor a
folder above it open to anybody but root and Slurm's user. Nothing is run. A handful of commands whatever the number of paths.
"""

from __future__ import annotations

import fnmatch

from ..parsers import file_owners, health_script, scontrol_config, slurm_conf

# slurmd without a configuration of its own keeps what the controller sent it in the first.
CONFS = ("/run/slurm/conf/slurm.conf", "/etc/slurm/slurm.conf", "/etc/slurm-llnl/slurm.conf")
GREP = ["grep", "-HiE", slurm_conf.GREP]
ASK = ["scontrol", "show", "config"]  # only where no file lies here: it is a call to the controller
STAT = ["stat", "-L", "-c", "%a %u %g %U %G %s %F %n"]
HEAD = ["head", "-v", "-c", "65536"]
MAX_PROGRAMS, MAX_PATH, MAX_INCLUDES = 24, 200, 8
TRUSTED = ("root", "slurm")
TOOLS = ("reboot", "shutdown", "systemctl", "true", "false", "scontrol")  # their names say all


def read(gather):
    """{"conf", "interval_s", "states", "programs": [...]} | "none" (no Slurm here) | None

    A program: {"setting", "path", "state": "there" | "missing" | "not a regular file" | "not executable" | None, "writable_by": "root" |
    "slurm" | "everyone" | "uid N" | "group N" | None, "open_path": where that is so, "data": as parsers/health_script, "steps", "reason"}
    """
    conf, settings = _settings(gather)
    if settings is None or settings == "none":
        return settings
    told = {}
    for key, value in settings:  # the last one of a key that may stand once holds
        told[key] = value
    entries = _entries(gather, conf, settings)
    _look(gather, conf, entries, told.get("SlurmUser", "root").split("(")[0])
    _texts(gather, entries)
    return {
        "conf": conf or " ".join(ASK),
        "interval_s": scontrol_config.seconds(told.get("HealthCheckInterval", "0")),
        "states": told.get("HealthCheckNodeState", "ANY"),
        "programs": entries,
    }


def _settings(gather):
    """(path of slurm.conf | None, [[key, value]] | "none" | None)"""
    seen = _grep(gather, CONFS)
    if seen is None:
        return None, None
    conf = next((path for path in CONFS if path not in seen["missing"]), None)
    if conf is None:
        asked = gather.command(ASK, scontrol_config.parse, timeout_s=20, optional=True)
        if asked is None:
            return None, "none" if gather.missing(" ".join(ASK)) else None
        pairs = [[key.split("[")[0], value] for key, value in asked["values"].items()]
        return None, [pair for pair in pairs if pair[0] in slurm_conf.KEYS and pair[1] != "none"]
    if conf in seen["unread"]:
        return None, gather.error(conf, "unreadable", f"{conf}: {seen['unread'][conf]}")
    own = seen["files"].get(conf, {"settings": [], "includes": []})
    more = [one if one.startswith("/") else conf.rsplit("/", 1)[0] + "/" + one for one in own["includes"]]
    if not more:
        return conf, own["settings"]
    if len(more) > MAX_INCLUDES or any(_wrong(path) for path in more):
        return None, gather.error(conf, "unreadable", f"{conf}: it includes what is not read here: {', '.join(more)[:120]}")
    beside = _grep(gather, more)
    if beside is None or beside["missing"] or beside["unread"] or any(one["includes"] for one in beside["files"].values()):
        return None, beside and gather.error(conf, "unreadable", f"{conf}: not all that it includes could be read: {', '.join(more)[:120]}")
    return conf, own["settings"] + [pair for path in more for pair in beside["files"].get(path, {"settings": []})["settings"]]


def _grep(gather, paths):
    """Nothing else of slurm.conf is kept: it may hold passwords."""
    argv = [*GREP, *paths]
    text = gather.command(argv, ok=(0, 1, 2), streams="both", strip=slurm_conf.strip)
    if text is None or text.strip():
        return text and gather._parsed(" ".join(argv), text, slurm_conf.parse)
    return {"files": {}, "missing": [], "unread": {}}


def _wrong(path) -> str:
    if not path.startswith("/"):
        return "not an absolute path"
    if ".." in path.split("/") or len(path) > MAX_PATH or not path.isprintable() or "%" in path:
        return "not a plain path"
    return ""


def _entries(gather, conf, settings) -> list:
    """One for each program; the folder of a pattern is one too: who can write there adds programs."""
    found = [_entry("slurm.conf", conf)] if conf else []
    for key, value in settings:
        if key not in slurm_conf.PROGRAMS or not value.split() or value.lower() in ("none", "(null)"):
            continue
        path = value.split()[0]
        if not path.startswith("/") and conf and key in ("Prolog", "Epilog"):
            path = conf.rsplit("/", 1)[0] + "/" + path  # as sent by the controller with the configuration
        folder, _, name = path.rpartition("/")
        wrong = _wrong(path) or ("a pattern of folders" if any(sign in folder for sign in "*?[") else "")
        if wrong or not any(sign in name for sign in "*?["):
            found.append(_entry(key, path[:MAX_PATH], wrong and f"{path[:80]}: {wrong}: it is not opened"))
            continue
        names = gather.names(folder, optional=True)
        found.append(_entry(key, folder + "/"))
        found += [_entry(key, f"{folder}/{one}") for one in sorted(names or ()) if fnmatch.fnmatchcase(one, name) and one[:1] != "."]
    if len(found) > MAX_PROGRAMS:
        gather.error("slurm.conf", "too_many", f"{len(found)} programs of Slurm: the first {MAX_PROGRAMS} are looked at")
    return found[:MAX_PROGRAMS]


def _entry(setting, path, reason=""):
    unknown = dict.fromkeys(("state", "writable_by", "open_path", "data", "steps"))
    return {"setting": setting, "path": path, **unknown, "reason": reason}


def _look(gather, conf, entries, slurm_user):
    """Who could change each of them: by itself, or by the folders above it."""
    asked = [entry["path"] for entry in entries if not entry["reason"]]
    paths = sorted({part for path in asked for part in (path.rstrip("/"), *_above(path))})
    seen = gather.command([*STAT, *paths], file_owners.parse, ok=(0, 1), streams="both") if paths else None
    for entry in entries:
        if entry["reason"]:
            continue
        what = seen["files"].get(entry["path"].rstrip("/")) if seen else None
        if not what:
            entry["reason"] = f"{entry['path']}: it could not be looked at"
            continue
        if what == "none":
            entry["state"], entry["reason"] = "missing", f"{entry['path']}: there is no such file"
        else:
            entry["state"] = _state(entry, what)
        _judge(entry, [(part, seen["files"].get(part)) for part in (entry["path"].rstrip("/"), *_above(entry["path"]))], slurm_user)
    doubtful = next((one for one in entries if one["setting"] == "slurm.conf" and one["writable_by"] not in TRUSTED), None)
    for entry in entries:
        if doubtful and not entry["reason"]:
            entry["reason"] = f"{conf}: who else could change it is {doubtful['writable_by'] or 'not known'}: what it names is not opened"


def _above(path):
    parts = path.rstrip("/").split("/")
    return ["/".join(parts[:count]) for count in range(2, len(parts))]


def _state(entry, what):
    if entry["path"].endswith("/"):
        return "there" if what["kind"] == "directory" else "not a folder"
    if not what["kind"].startswith("regular"):
        return "not a regular file"
    return "there" if what["mode"] & 0o111 or entry["setting"] == "slurm.conf" else "not executable"


def _judge(entry, parts, slurm_user):
    worst = None
    for path, what in parts:
        if what == "none":
            continue
        circle = _circle(what, slurm_user) if what else None
        if circle not in TRUSTED:
            entry["writable_by"], entry["open_path"] = circle, path if circle else None
            entry["reason"] = entry["reason"] or ("" if circle else f"{path}: who could change it could not be looked at")
            return
        worst = "slurm" if "slurm" in (circle, worst) else circle
    entry["writable_by"] = worst or "root"


def _circle(what, slurm_user) -> str:
    """The widest circle that may write; a sticky folder keeps others' hands off what is in it."""
    mode, sticky = what["mode"], what["kind"] == "directory" and what["mode"] & 0o1000
    if mode & 0o002 and not sticky:
        return "everyone"
    if what["uid"] and what["owner"] != slurm_user:
        return f"uid {what['uid']}"
    if mode & 0o020 and what["gid"] and what["group"] != slurm_user and not sticky:
        return f"group {what['gid']}"
    return "slurm" if what["uid"] else "root"


def _texts(gather, entries):
    wanted = [entry for entry in entries if entry["setting"] != "slurm.conf" and not entry["path"].endswith("/") and not entry["reason"]]
    opened = []
    for entry in wanted:
        base = entry["path"].rsplit("/", 1)[-1]
        if entry["writable_by"] not in TRUSTED:
            entry["reason"] = f"{entry['path']}: others than root and Slurm's user could change it: it is not opened"
        elif entry["state"] == "not a regular file":
            entry["reason"] = f"{entry['path']}: not a regular file: it is not opened"
        elif base in TOOLS or base.startswith("nhc"):
            entry["reason"] = f"{entry['path']}: its name says what it is"
        else:
            opened.append(entry)
    paths = sorted({entry["path"] for entry in opened})
    text = gather.command([*HEAD, *paths], ok=(0, 1), timeout_s=20) if paths else None
    texts = health_script.split(text, paths) if text else {}
    for entry in opened:
        body = texts.get(entry["path"], "")
        try:
            entry["data"], entry["steps"] = health_script.parse(body), health_script.parse_steps(body)
        except health_script.ParseError as error:
            entry["reason"] = f"{entry['path']}: {error}"
