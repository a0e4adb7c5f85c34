"""The registry of named faults: what a spec may seed into a node. They are in the modules faults_<what>."""

from __future__ import annotations

import inspect

from ClusterShell.NodeSet import NodeSet, NodeSetException

from . import (
    faults_burn,
    faults_cabling,
    faults_collectives,
    faults_compute,
    faults_fabric,
    faults_gpu,
    faults_health,
    faults_host,
    faults_isolation,
    faults_kernel,
    faults_load,
    faults_monitoring,
    faults_rdma,
    faults_recipe,
    faults_scheduler,
    faults_transport,
)

MODULES = (
    faults_gpu,
    faults_fabric,
    faults_rdma,
    faults_kernel,
    faults_host,
    faults_health,
    faults_scheduler,
    faults_cabling,
    faults_isolation,
    faults_load,
    faults_monitoring,
    faults_recipe,
    faults_burn,
    faults_compute,
    faults_collectives,
    faults_transport,
)
RESERVED = {"fault", "hosts", "why"}


def registry() -> dict:
    """Name -> function(node, rng, *, parameters with defaults)."""
    found = {}
    for module in MODULES:
        for name, function in vars(module).items():
            if inspect.isfunction(function) and function.__module__ == module.__name__ and not name.startswith("_"):
                if name in found:
                    raise ValueError(f"two faults are called {name}: in {found[name].__module__} and in {module.__name__}")
                found[name] = function
    return found


def parameters(name) -> dict:
    """Parameter -> default, of a fault."""
    found = inspect.signature(registry()[name]).parameters.values()
    return {parameter.name: parameter.default for parameter in found if parameter.kind is parameter.KEYWORD_ONLY}


def describe() -> list:
    """One line for each fault: name, parameters with their defaults, what it does."""
    lines = []
    for name, function in sorted(registry().items()):
        given = " ".join(f"{key}={value!r}" for key, value in parameters(name).items())
        lines.append(f"{name:<24} {inspect.getdoc(function).splitlines()[0]}" + (f"  [{given}]" if given else ""))
    return [*lines, "", "kinds of kernel_line: " + " ".join(sorted(faults_kernel.LINES))]


def hosts(nodeset) -> list:
    """The host names of a node set such as b200-[01,03-04]."""
    return list(NodeSet(nodeset))


def check(entry, names) -> None:
    """Raise ValueError ("key: message") where an entry of a spec's faults cannot be applied."""
    name = entry["fault"]
    if name not in registry():
        raise ValueError(f"fault: no fault {name!r}; tools/simulate --faults lists them")
    try:
        unknown = [host for host in hosts(entry["hosts"]) if host not in names]
    except NodeSetException as error:
        raise ValueError(f"hosts: not a node set: {error}") from error
    if unknown or not entry["hosts"].strip():
        raise ValueError(f"hosts: no such host in this spec: {', '.join(unknown[:5]) or '(none named)'}")
    known = parameters(name)
    for key, value in entry.items():
        if key in RESERVED:
            continue
        if key not in known:
            raise ValueError(f"{key}: {name} has no such parameter; it has {', '.join(known) or 'none'}")
        if known[key] is not None and not _fits(value, known[key]):
            raise ValueError(f"{key}: {value!r} is no {type(known[key]).__name__}")


def apply(entry, node, rng) -> None:
    """Put one entry's fault into one of its nodes. Raises ValueError where the node has no such part."""
    given = {key: value for key, value in entry.items() if key not in RESERVED}
    try:
        registry()[entry["fault"]](node, rng, **given)
    except (IndexError, LookupError) as error:
        raise ValueError(f"{entry['fault']}: {node.name} has no such part: {error}") from error


def _fits(value, default) -> bool:
    if isinstance(default, bool) or isinstance(value, bool):
        return isinstance(value, bool) and isinstance(default, bool)
    return isinstance(value, (int, float)) if isinstance(default, float) else isinstance(value, type(default))
