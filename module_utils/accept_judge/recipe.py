"""The golden recipe of a cluster: settings for its collective library, each with a reason, derived from what its nodes showed.

standards/recipes/nccl/<id>.yml has the lines of each platform and transport; words with a dollar are filled from facts. A word that is
not needed leaves its line out, and says why: that a setting is not there is a decision like any other.

    {"id": "roce_hgx", "title": "...", "lines": [{"name", "value", "why", "source"}], "decisions": [{"about", "text", "source"}]}
"""

from __future__ import annotations

import functools
import re
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from . import documents, nccl_env, nccl_gid, paths

FOLDER, SCHEMA = Path("recipes/nccl"), Path("schema/recipe_nccl.json")
SAMPLE = 24  # nodes of a cluster that are looked at; those that differ are other checks' finding
ECT = 2  # the ECN bits of a marked packet
USUAL_DSCP = 26  # of the lossless class; the one taken where the table sorts it there
OWN = "this run's facts of the nodes"
TC_HELP = "no traffic class: "
HEAD = "# Recipe\n\nFrom facts and standards; where the library decides by itself, nothing is set. The sweep shows what it brings.\n\n"


class Word(NamedTuple):
    """A value derived from facts. None: the line is left out, and `why` says so."""

    value: str | None
    why: str


@functools.cache
def _recipes(folder: Path) -> tuple:
    """Every golden recipe, read and checked once."""
    found, errors = [], []
    for path in sorted((folder / FOLDER).glob("*.yml")):
        data = documents.read(path.read_bytes(), str(path))
        errors += documents.validate(data, folder / SCHEMA, path.name)
        found.append(data)
    if errors:
        raise documents.DocumentError(errors)
    return tuple(found)


def of_node(run) -> dict | None:
    """What the facts of one node make of the recipe for its platform; None where there is none. `run` is a View of the node."""
    host = run.envelope.get("host")
    shipped = run.fact(host, "nccl_recipe").data if host else None
    if shipped is None:
        return None
    facts = {
        name: run.fact(host, name).data or {}
        for name in ("inventory_audit", "gid_check", "roce_config", "isolation_audit", "version_audit")
    }
    facts["nccl_recipe"] = shipped
    made = make(facts, run.context, run.standards.folder)
    return made and _with_shipped(made, shipped, run)


def _with_shipped(made, shipped, run) -> dict:
    """What harms and is in force is taken back, where a value can do that; and what the provider ships for those who load it."""
    catalog = run.standards.catalogs.get("nccl_settings", {}).get("settings", ())
    set_here = {line["name"] for line in made["lines"]}
    lines, decisions = [], []
    for found in nccl_env.harmful(nccl_env.in_force(shipped), catalog, run.context.get("form")):
        if found["kind"] == "noise" or found["name"] in set_here:
            continue
        if found["neutral"]:
            lines.append({"name": found["name"], "value": found["neutral"], "why": f"Takes back {found['finding']}", "source": OWN})
        else:
            text = f"{found['finding']}. Take it away: no other value does that"
            decisions.append({"about": f"{found['name']} is in force", "text": text, "source": OWN})
    offered = nccl_env.on_request(shipped)
    return {**made, "lines": made["lines"] + lines, "decisions": decisions + made["decisions"], "provider": offered}


def make(facts: dict, context: dict, folder: Path) -> dict | None:
    """The recipe from the facts of one node, concern -> data."""
    seen = {**context, "efa": _efa(facts), "gib": _gib(facts)}
    chosen = next((one for one in _recipes(Path(folder)) if paths.truth(one["applies"])(seen)), None)
    if chosen is None:
        return None
    words = _words(facts, context)
    lines, decisions = [], []
    for line in chosen["lines"]:
        word = words[line["value"][1:]] if line["value"].startswith("$") else Word(line["value"], "")
        if word.value is None:
            decisions.append({"about": f"{line['name']} is not set", "text": word.why, "source": OWN})
        else:
            why = f"{line['why']}. {word.why[0].upper()}{word.why[1:]}" if word.why else line["why"]
            lines.append({**line, "value": word.value, "why": why, "source": _sources(line["source"])})
    notes = [{**note, "source": _sources(note["source"])} for note in chosen["notes"]]
    return {"id": chosen["id"], "title": chosen["title"], "lines": lines, "decisions": decisions + notes}


def _sources(source) -> str:
    return "; ".join(source) if isinstance(source, list) else source


def _efa(facts) -> bool:
    return (facts["version_audit"].get("modules") or {}).get("efa", "none") != "none"


def _gib(facts) -> bool:
    return any("/gib/" in plugin["path"] for plugin in facts["nccl_recipe"].get("plugins") or ())


def _words(facts, context) -> dict[str, Word]:
    rails = [port for port in facts["gid_check"].get("ports") or () if port.get("traffic")]
    return {
        "hcas": _hcas(rails, facts["inventory_audit"]),
        "bootstrap": _bootstrap(facts["isolation_audit"], rails),
        "traffic_class": _traffic_class(facts["roce_config"]),
        **_gid(rails, facts, context),
    }


def _hcas(rails, inventory) -> Word:
    """The exact list of rails, where there is anything else that the library could take."""
    every = {nic["name"] for nic in inventory.get("nics") or () if not nic.get("vf")}
    names = sorted({port["device"] for port in rails}, key=natural)
    if not names or not every:
        return Word(None, "the adapters of the nodes were not measured")
    others = sorted(every - set(names), key=natural)
    if not others:
        return Word(None, f"the {len(names)} rails are the only RDMA devices of the node: the library finds them by itself")
    return Word("=" + ",".join(names), f"{len(names)} rails; {', '.join(others)} is for something else. A leading = asks for exact names")


def natural(name: str):
    return [int(part) if part.isdecimal() else part for part in re.split(r"(\d+)", name)]


def _bootstrap(isolation, rails) -> Word:
    routes = (isolation.get("egress") or {}).get("default_routes")
    if not routes:
        return Word(None, "no default route was seen: which network is the front end is not known")
    if routes[0] in {port.get("netdev") for port in rails}:
        return Word(None, f"the default route goes over {routes[0]}, a rail")
    return Word(routes[0], f"the default route goes over {routes[0]}")


def _traffic_class(roce) -> Word:
    ports = [port for port in roce.get("ports") or () if port.get("rail")]
    if not ports:
        return Word(None, TC_HELP + "the quality-of-service settings of the rails were not measured")
    forced = {port.get("traffic_class") for port in ports}
    if len(forced) == 1 and isinstance(next(iter(forced)), int):
        return Word(None, f"the driver forces traffic class {next(iter(forced))} on every rail")
    lossless = {tuple(port.get("pfc") or ()) for port in ports}
    if len(lossless) != 1 or len(next(iter(lossless))) != 1:
        return Word(None, TC_HELP + "the rails have not one lossless priority in common")
    priority = next(iter(lossless))[0]
    dscps = [_members((port.get("dscp_priority") or {}).get(str(priority), "")) for port in ports]
    common = sorted(set.intersection(*dscps)) if dscps else []
    if not common:
        return Word(None, TC_HELP + f"no DSCP goes to priority {priority} on every rail")
    dscp = USUAL_DSCP if USUAL_DSCP in common else common[0]
    return Word(str(dscp * 4 + ECT), f"DSCP {dscp} goes to priority {priority}, where flow control is on")


def _members(text: str) -> set[int]:
    found: set[int] = set()
    for low, high in re.findall(r"(\d+)(?:-(\d+))?", text):
        found.update(range(int(low), int(high or low) + 1))
    return found


def _gid(rails, facts, context) -> dict[str, Word]:
    """An index only where the library would choose wrongly by itself, and a family where the rails have none of the usual one."""
    rails = [port for port in rails if port["link_layer"] == "Ethernet"]
    if not rails or any(port.get("gids") is None for port in rails):
        unknown = Word(None, "the GID tables of the rails were not measured")
        return {"gid_index": unknown, "family": unknown}
    kinds = {port.get("best_v2") for port in rails}
    six = kinds == {"global"}
    family = Word("AF_INET6", "") if six else Word(None, "the rails have IPv4 addresses, which the library prefers")
    name = "rccl" if context.get("vendor") == "amd" else "nccl"
    version = ((facts["version_audit"].get("components") or {}).get(name) or {}).get("version")
    settings = {"NCCL_IB_ADDR_FAMILY": nccl_gid.Setting("AF_INET6", "the recipe")} if six else {}
    choices = {port["name"]: nccl_gid.choose(port["gids"], settings, version) for port in rails}
    wrong = [
        port["name"]
        for port in rails
        if choices[port["name"]].index is None or choices[port["name"]].index not in (port.get("routable_v2") or ())
    ]
    common = facts["gid_check"].get("rocev2_common") or []
    if not wrong:
        index = Word(None, "the library selects a routable RoCE v2 GID on every rail by itself (predicted; its log decides)")
    elif common:
        index = Word(str(common[0]), f"{choices[wrong[0]].reason}; index {common[0]} is routable RoCE v2 on every rail of the node")
    else:
        index = Word(None, "no index is a routable RoCE v2 GID on every rail: the tables must be put right first")
    return {"gid_index": index, "family": family}


def of_run(run_dir: Path, standards_dir: Path, contract: Path | None = None) -> dict[str, dict]:
    """Cluster -> its recipe, from the facts that a run has so far: what the sweep takes for its mode `ours`."""
    from . import scorecard  # which knows the clusters; it imports us

    return {made["cluster"]: made for made in scorecard.recipes(run_dir, standards_dir, contract)}


def for_clusters(members: dict, view) -> list:
    """[{cluster, ...of_cluster}] for cluster -> nodes; `view` makes a View of a cluster and a node."""
    found = []
    for cluster, hosts in members.items():
        made = of_cluster({host: _tried(view(cluster, host)) for host in sample(hosts)})
        if made:
            found.append({"cluster": cluster, **made})
    return found


def _tried(run) -> dict | None:
    """of_node, or None where its facts are damaged: the analysis of its concern says so in a row, and no verdict hangs on a recipe."""
    try:
        return of_node(run)
    except documents.DocumentError:
        raise
    except Exception:
        return None


def of_cluster(nodes: dict) -> dict | None:
    """One recipe for a cluster, from those of its nodes (name -> recipe): what most of them make, and which make another."""
    texts = {name: repr(made["lines"]) for name, made in nodes.items() if made}
    if not texts:
        return None
    common, _ = Counter(texts.values()).most_common(1)[0]
    agree = sorted(name for name, text in texts.items() if text == common)
    return {**nodes[agree[0]], "nodes": len(texts), "differ": sorted(set(texts) - set(agree))}


def sample(hosts) -> list:
    """Nodes spread over a cluster, to derive its recipe from."""
    names = sorted(hosts)
    step = max(1, len(names) / SAMPLE)
    return [names[int(place * step)] for place in range(min(SAMPLE, len(names)))]


def environment(made: dict | None) -> dict[str, str]:
    """The settings as a job's environment, for runs in the mode `ours`."""
    return {line["name"]: line["value"] for line in made["lines"]} if made else {}


def offered(made: dict | None) -> dict[str, str]:
    """What the provider ships for those who load it, for runs in the mode `provider`."""
    return dict(((made or {}).get("provider") or {}).get("values") or {})


def conf(made: dict) -> str:
    """The recipe as a conf file of the library. The library takes plain NAME=VALUE lines, and knows only its own names."""
    text = [f"# {made['title']}. Reasons: recipe/README.md of the run."]
    for line in made["lines"]:
        own = line["name"].startswith(("NCCL_", "RCCL_"))
        text.append(f"{line['name']}={line['value']}" if own else f"# for the environment of the job: {line['name']}={line['value']}")
    return "\n".join(text) + "\n"


def files(recipes: list) -> dict[str, str]:
    """Path below the run's folder -> text: a conf file for each cluster, and one page of reasons."""
    alone = len(recipes) == 1
    found = {conf_path(made, alone): conf(made) for made in recipes}
    return {**found, "recipe/README.md": HEAD + "\n".join(page(made) for made in recipes)}


def conf_path(made: dict, alone: bool) -> str:
    """Where the conf file of a cluster stands, below the run's folder."""
    folder = re.sub(r"[^A-Za-z0-9_-]", "_", made["cluster"]) or "cluster"  # a name of the inventory, which may be any text
    return "recipe/nccl.conf" if alone else f"recipe/{folder}/nccl.conf"


def page(made: dict) -> str:
    """The reasons for one cluster's settings, as Markdown."""
    title = f"## {made['cluster'] or 'Cluster'}: {made['title']}"
    text = [title, "", f"Derived from the facts of {made['nodes']} nodes (`standards/recipes/nccl/{made['id']}.yml`).", ""]
    if made["differ"]:
        text += [f"Other settings come out for {', '.join(made['differ'])}: put those nodes right, or give them a file of their own.", ""]
    if made.get("provider"):
        values = " ".join(f"{name}={value}" for name, value in made["provider"]["values"].items())
        text += [f"The provider ships `{made['provider']['from']}` for those who load it: `{_cell(values)}`.", ""]
    if made["lines"]:
        text += ["| setting | why | source |", "|---|---|---|"]
        text += [f"| `{line['name']}={line['value']}` | {_cell(line['why'])} | {_cell(line['source'])} |" for line in made["lines"]]
        text += [""]
    else:
        text += ["No setting is needed: the library finds everything by itself.", ""]
    text += ["| decision | why | source |", "|---|---|---|"]
    text += [f"| {_cell(one['about'])} | {_cell(one['text'])} | {_cell(one['source'])} |" for one in made["decisions"]]
    return "\n".join(text) + "\n"


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "/").split())
