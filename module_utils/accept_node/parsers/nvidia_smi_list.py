"""`nvidia-smi -L`: GPUs and their MIG devices.

{"gpus": [{"index": 0, "name": "NVIDIA H200", "uuid": "GPU-...", "mig": [{"profile": "1g.18gb", "device": 0, "uuid": "MIG-..."}]}],
 "lost": [{"pci": "0000:ba:00.0", "reason": "Unknown Error"}], "unread": ["lines that name a GPU in no known form"]}
"""

from __future__ import annotations

import re

from ..values import pci_address
from . import ParseError
from .nvidia_smi import LOST

GPU = re.compile(r"GPU (\d{1,4}): (.+?) \(UUID: (GPU-[0-9a-fA-F-]+)\)\s*")
MIG = re.compile(r"\s+MIG (\S+)\s+Device\s+(\d{1,3}): \(UUID: (MIG-\S+?)\)\s*")


def parse(text: str) -> dict:
    """See the module's docstring. Other lines are passed over; no GPU line at all is an error unless the tool found no devices."""
    found = {"gpus": [], "lost": [], "unread": []}
    for line in text.splitlines():
        gpu, mig, lost = GPU.fullmatch(line), MIG.fullmatch(line), LOST.search(line)
        if gpu:
            found["gpus"].append({"index": int(gpu.group(1)), "name": gpu.group(2), "uuid": gpu.group(3), "mig": []})
        elif mig and found["gpus"]:
            found["gpus"][-1]["mig"].append({"profile": mig.group(1), "device": int(mig.group(2)), "uuid": mig.group(3)})
        elif lost:
            found["lost"].append({"pci": pci_address(lost.group(1)) or lost.group(1), "reason": lost.group(2).strip()})
        elif line.startswith("GPU") or mig:
            found["unread"].append(line.strip()[:160])
    if not found["gpus"] and not found["lost"] and "No devices found" not in text:
        raise ParseError(f"nvidia-smi -L: no GPU line in: {' '.join(text.split())[:120] or 'nothing'}")
    return found
