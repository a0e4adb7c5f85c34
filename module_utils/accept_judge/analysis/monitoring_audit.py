"""What a cluster's dashboards show, whether their tiles can be believed, and whether alerts would reach anybody.

Where no access to the monitoring was given, the provider's word stands for it (contract, attestations), and rows ask for it.
"""

from __future__ import annotations

import re

from ..attested import attested

MINUTES = 60
A_DAY_S = 86400.0
SAYS_NOTHING = re.compile(r"no ?(?:data|value)|n/?a\b|unknown|missing|stale|^[-–—?]*$", re.I)
SHIPPED = ["email"]  # Grafana comes with a contact point of this kind that reaches nobody


def analyse(data: dict, run) -> dict:
    """shows[] {what, shown} · tiles_judged[] {tile, shown_age_s} · nodes_silent · targets[] · alert_kinds[] {what, rule}
    rules_judged[] {rule, works} · alerts_sent · alerts_firing[]

    `shown_age_s`: how old is the newest sample behind a tile that still shows a value; 0 where it says that there is nothing.
    """
    catalogue = run.standards.catalogs["monitoring"]
    ages = {one["selector"]: one for one in data["series"]}
    lookback = catalogue["lookback_s"]["value"]
    return {
        **_shows(data, run, catalogue, ages),
        **_tiles(data, ages, lookback),
        **_nodes(data, run, catalogue, lookback),
        "targets_judged": data["prometheus"] and [one for one in data["prometheus"]["targets"] if one["job"] != "other"],
        **_alerts(data, run, catalogue),
        **_rules(data, ages, lookback),
        **_sent(data),
    }


def without_data(run) -> dict:
    """No access: the provider's word, or the request for it."""
    catalogue, why = run.standards.catalogs["monitoring"], run.envelope.get("reason") or "the monitoring was not asked"
    unasked = ("tiles_judged", "nodes_silent", "targets_judged", "rules_judged", "alerts_sent", "alerts_firing")
    return {
        **{key: value for name in unasked for key, value in ((name, None), (name + "_reason", why))},
        "shows": [_by_word(run, "shown", entry) for entry in catalogue["shows"]],
        "alert_kinds": [_by_word(run, "rule", entry) for entry in catalogue["alerts"]],
    }


def _by_word(run, name, entry) -> dict:
    what = "monitoring_dashboards" if name == "shown" else "monitoring_alerts"
    said = attested(run, what)
    return {"what": entry["title"], name: said[what], name + "_reason": said.get(what + "_reason", "")}


# --- dashboards --------------------------------------------------------------------------------------------------------------------------


def _shows(data, run, catalogue, ages) -> dict:
    if data["tiles"] is None:
        return {"shows": [_by_word(run, "shown", entry) for entry in catalogue["shows"]]}
    left = data["tiles_left_out"] + data["grafana"]["dashboards_left_out"]
    count = len(data["grafana"]["dashboards"])
    return {"shows": [{"what": entry["title"], **_shown(data["tiles"], entry, ages, left, count)} for entry in catalogue["shows"]]}


def _shown(tiles, entry, ages, left, count) -> dict:
    mine = [tile for tile in tiles if _is_of(tile, entry)]
    fed = [tile for tile in mine if all((ages.get(one) or {}).get("ages") != [] for one in tile["series"])]
    if fed:
        return {"shown": f"shown: {_name(fed[0])}"}
    if mine:
        return {"shown": None, "shown_reason": f"{_name(mine[0])} is there for it, and its series had no sample in a day"}
    if left:
        return {"shown": None, "shown_reason": f"not seen on what was read; {left} dashboards or tiles were not"}
    return {"shown": f"not shown on any of {count} dashboards"}


def _is_of(tile, entry) -> bool:
    """By its series and, where labels must name a part, by what is left of those after adding up."""
    of_series = any(re.search(entry["series"], one) for one in tile["series"])
    labels = set(entry.get("labels", ())) & set(tile["labels"])
    if entry.get("any"):
        return of_series or bool(labels)
    return of_series and (not entry.get("labels") or bool(labels) or tile["aggregated"] is False)


def _name(tile) -> str:
    return f"{tile['dashboard']}: {tile['panel']}"


def _age_s(item, ages, lookback):
    """(age of the newest sample that an expression stands on, why not known). None in a day is a day; of `or`, the youngest."""
    found, why = [], "" if item["series"] else "it reads no series"
    for selector in item["series"]:
        one = ages.get(selector) or {}
        if one.get("ages") is None:
            why = "how old its series are could not be asked"
            continue
        age = one["ages"][0][0] * MINUTES if one["ages"] else A_DAY_S
        if one["narrowed"] and age <= lookback:
            why = "it reads a part of its series, by labels that are not ours to keep"
        else:
            found.append(float(age))
    if item["joins"] == "or":
        return (None, why) if why else (min(found), "")
    if found and max(found) > lookback:
        return max(found), ""
    return (None, why) if why else (max(found), "")


def _tiles(data, ages, lookback) -> dict:
    if data["tiles"] is None:
        why = "Grafana was not asked" if "grafana" not in data["asked"] else "Grafana's dashboards could not be read"
        return {"tiles_judged": None, "tiles_judged_reason": why}
    return {"tiles_judged": [_tile(tile, ages, lookback) for tile in data["tiles"]]}


def _tile(tile, ages, lookback) -> dict:
    age, why = _age_s(tile, ages, lookback)
    name, shows, by = _name(tile), tile["result"], list(tile["masks"])
    if age is None:
        return {"tile": name, "shown_age_s": None, "shown_age_s_reason": why}
    if age <= lookback or tile["absent"]:
        return {"tile": name, "shown_age_s": age if age <= lookback else 0.0}
    if not shows and tile["keeps_s"] and age < tile["keeps_s"]:
        shows, by = 1, [f"the last value of {tile['keeps_s'] / 3600:g} h"]
    if not shows and tile["no_value"] and not SAYS_NOTHING.search(tile["no_value"]):
        shows, by = 1, [f"in place of nothing: {tile['no_value'][:30]!r}"]
    if shows is None:
        return {
            "tile": name,
            "shown_age_s": None,
            "shown_age_s_reason": "its series ended, and what its query still gives could not be asked",
        }
    return {"tile": f"{name} ({', '.join(by)})" if shows and by else name, "shown_age_s": age if shows else 0.0}


def _nodes(data, run, catalogue, lookback) -> dict:
    """Nodes of the cluster whose GPU exporter is not heard: by how many instances were, of the metric that most of them have."""
    pattern = catalogue["node_series"]["pattern"]
    counts = [
        sum(number for minutes, number in one["ages"] if minutes * MINUTES <= lookback)
        for one in data["series"]
        if re.search(pattern, one["selector"]) and one["ages"] is not None and not one["narrowed"]
    ]
    nodes, heard = len(run.hosts), max(counts, default=None)
    if heard is None:
        return {"nodes_silent": None, "nodes_silent_reason": "no tile and no rule that was read asks for a GPU exporter's series"}
    if heard > nodes:
        why = f"{heard} instances are heard, more than the {nodes} nodes of this cluster: which are its own was not asked"
        return {"nodes_silent": None, "nodes_silent_reason": why}
    return {"nodes_silent": nodes - heard}


# --- alerts ------------------------------------------------------------------------------------------------------------------------------


def _alerts(data, run, catalogue) -> dict:
    if data["rules"] is None:
        return {"alert_kinds": [_by_word(run, "rule", entry) for entry in catalogue["alerts"]], "alerts_firing": None}
    unread = [name for name in ("prometheus", "grafana") if not (data[name] or {}).get("rules_read")]
    rules = [rule for rule in data["rules"] if not rule["paused"]]
    firing = [f"{rule['name']}: {rule['firing']}" for rule in rules if rule["firing"]]
    return {"alert_kinds": [_kind(rules, entry, unread) for entry in catalogue["alerts"]], "alerts_firing": firing}


def _kind(rules, entry, unread) -> dict:
    found = next((rule for rule in rules if re.search(entry["query"], rule["query"])), None)
    if found:
        return {"what": entry["title"], "rule": f"found: {found['name']}"}
    if unread:
        reason = f"no such rule was seen; those of {' and '.join(name.capitalize() for name in unread)} were not read"
        return {"what": entry["title"], "rule": None, "rule_reason": reason}
    return {"what": entry["title"], "rule": "none"}


def _rules(data, ages, lookback) -> dict:
    if data["rules"] is None:
        return {"rules_judged": None, "rules_judged_reason": "alert rules were not read"}
    return {"rules_judged": [{"rule": rule["name"], **_works(rule, ages, lookback)} for rule in data["rules"]]}


def _works(rule, ages, lookback) -> dict:
    if rule["paused"]:
        return {"works": "it is paused"}
    if rule["health"] == "err":
        return {"works": "its evaluation fails"}
    if rule["by"] == "prometheus" and rule["evaluated_age_s"] is None:
        return {"works": "it was never evaluated"}
    if (rule["evaluated_age_s"] or 0) > 4 * lookback:
        return {"works": f"it was last evaluated {rule['evaluated_age_s'] / MINUTES:.0f} min ago"}
    age, why = _age_s(rule, ages, lookback)
    if age is None:
        return {"works": None, "works_reason": why}
    if age <= lookback or rule["absent"] or rule["no_data"] in ("Alerting", "NoData"):
        return {"works": "works"}
    ended = "had no sample in a day" if age >= A_DAY_S else f"ended {age / MINUTES:.0f} min ago"
    return {"works": f"it cannot fire: its series {ended}"}


def _sent(data) -> dict:
    """alerts_sent: "sends: ..." | "no: ..." | None"""
    prometheus, manager, grafana = data["prometheus"] or {}, data["alertmanager"], data["grafana"] or {}
    contacts = grafana.get("contacts") or []
    if manager and manager["default_sends"] and prometheus.get("alertmanagers") != 0:
        return {"alerts_sent": f"sends: {', '.join(manager['kinds'])}"}
    if any(kind not in SHIPPED for kind in contacts) and any(rule["by"] == "grafana" for rule in data["rules"] or ()):
        return {"alerts_sent": f"sends: {', '.join(contacts)}, from Grafana"}
    if manager and not manager["sending"]:
        return {"alerts_sent": f"no: none of {manager['receivers']} receivers of Alertmanager sends anything"}
    if prometheus.get("alertmanagers") == 0 and not any(rule["by"] == "grafana" for rule in data["rules"] or ()):
        return {"alerts_sent": "no: Prometheus has no Alertmanager"}
    why = (
        "Alertmanager was not asked"
        if manager is None
        else "the route's first receiver sends nothing, and which alerts reach the others is not known"
    )
    return {"alerts_sent": None, "alerts_sent_reason": why}
