"""What a host's part in an allocation of ours is."""

from __future__ import annotations


def container(results, host: str) -> str:
    """The container of the host's pod in what accept_allocation has answered in a loop; empty where it has none."""
    for result in results or ():
        pod = ((result.get("allocation") or {}).get("pods") or {}).get(host)
        if pod and pod["container"]:
            return pod["container"]
    return ""


class FilterModule:
    def filters(self):
        return {"accept_container": container}
