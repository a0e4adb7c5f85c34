"""AMD's list of in-band RAS records (CPER): JSON, {"cper": [{"gpu": UUID, "afid": [55]}]}, or an empty list.

`parse(text)` returns {"errors": [{"gpu": str, "afids": [int]}]}; an empty list is no errors, and no failure.
Format: github.com/ROCm/device-metrics-exporter.
"""

from __future__ import annotations

import json

from . import ParseError


def parse(text: str) -> dict:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ParseError(f"no JSON: {str(error).splitlines()[0]}") from error
    records = data.get("cper") if isinstance(data, dict) else data
    if not isinstance(records, list):
        raise ParseError("no list of records, and no 'cper' in it")
    errors = []
    for record in records:
        gpu, afids = (record.get("gpu"), record.get("afid")) if isinstance(record, dict) else (None, None)
        if not isinstance(gpu, str) or not isinstance(afids, list) or not all(type(afid) is int for afid in afids):
            raise ParseError("a record without gpu and afid")
        errors.append({"gpu": gpu, "afids": afids})
    return {"errors": errors}
