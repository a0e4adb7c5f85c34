"""Where a curve of bus bandwidth over size is lower than it should be: dips, jagged stretches, sizes that are missing.

What a size should reach is said by the curve itself, by three things that hold for every healthy one:
  it is no slower than a smaller size (bandwidth does not fall), no longer on its way than a larger one (time does not fall),
  and not below the line between its neighbours in double logarithm (the curve is hollow nowhere); a stretch of two or three sizes likewise.
And by its repeats: what was reached once can be reached. A repeat has a dip where both placements have it: what only one shows is jitter.
"""

from __future__ import annotations

import numpy as np

DIP = 0.20  # below a line, or below another repeat: published healthy curves stay within 16 %, at the library's own switches
FALL = 0.10  # below what a smaller or a longer message reached: published healthy curves stay within 5 %
NOTCH = 0.08  # below that a curve is smooth
FIRST = 0.35  # the first size of a sweep pays for the start
CUBIC = {1: [(-1 / 6, 4 / 6, 4 / 6, -1 / 6)], 2: [(-0.3, 1, 0.5, -0.2), (-0.2, 0.5, 1, -0.3)]}  # Lagrange's weights at equal steps
WIDEST = 3  # sizes of a stretch that lies below the line between its neighbours
NOISE = 4  # standard deviations of a repeat that a dip must stand out by
ROUGH, SWINGS = 0.10, 4  # a jagged stretch: so many sizes in turn above and below the line between their neighbours
FEW = 8
SMALL = 0.1  # of the peak: below that latency rules, and its jitter


def depths(busbw, sizes) -> tuple[np.ndarray, np.ndarray]:
    """By what part busbw[placement, repeat, size] is below what smaller and longer messages reached, and below the line between its
    neighbours or another repeat; of the placements the lesser. Two arrays [repeat, size]."""
    logs = np.log(np.asarray(busbw, float))
    fallen, hollow = _shape(logs, np.log(np.asarray(sizes, float)))
    hollow = np.fmax(hollow, _filled(logs).max(axis=1, keepdims=True) - logs)
    return tuple(1 - np.exp(-np.where(np.isfinite(part), part, np.inf).min(axis=0)) for part in (fallen, hollow))


def _filled(logs):
    return np.where(np.isfinite(logs), logs, -np.inf)


def _shape(logs, x):
    """How far (in log) each size is below what smaller and longer messages reached, and below the line between its neighbours."""
    known = _filled(logs)
    before = np.maximum.accumulate(known, axis=-1)
    times = x - np.where(np.isfinite(logs), logs, -np.inf)  # log time, but for a constant
    after = x - np.minimum.accumulate(times[..., ::-1], axis=-1)[..., ::-1]
    hollow = np.zeros_like(logs)
    count = logs.shape[-1]
    for wide in range(1, min(WIDEST, count - 2) + 1):
        span = count - wide - 1
        left, right, start, width = logs[..., :span], logs[..., wide + 1 :], x[:span], x[wide + 1 :] - x[:span]
        gaps = [left + (right - left) * (x[k : span + k] - start) / width - logs[..., k : span + k] for k in range(1, wide + 1)]
        least = np.minimum.reduce(gaps)  # a stretch is as deep as its shallowest size
        for k in range(1, wide + 1):
            np.fmax(hollow[..., k : span + k], least, out=hollow[..., k : span + k])
    steps = np.diff(x)
    if count > 4 and steps.max() - steps.min() < 0.01:
        _bend(logs, np.maximum(known, np.maximum(before, after)), hollow)
    return np.maximum(before, after) - logs, hollow


def _bend(logs, healed, hollow):
    """The same below a cubic through two sizes on either side, as high as they should be: where a curve bends, the line is too low."""
    for wide, weights in CUBIC.items():
        count = logs.shape[-1] - wide - 3
        if count < 1:
            continue
        ends = [healed[..., at : at + count] for at in (0, 1, wide + 2, wide + 3)]
        gaps = [sum(weight * end for weight, end in zip(row, ends)) - logs[..., 2 + k : 2 + k + count] for k, row in enumerate(weights)]
        least = np.minimum.reduce(gaps)
        for k in range(wide):
            np.fmax(hollow[..., 2 + k : 2 + k + count], least, out=hollow[..., 2 + k : 2 + k + count])


def noise(busbw) -> np.ndarray:
    """Standard deviation of log rate between repeats at each size, robust: one for what latency rules, one for the rest; 0 where unknown.
    With one repeat the two placements stand for it: they differ by little on a quiet machine."""
    logs = np.log(np.asarray(busbw, float))
    peak = np.nanmax(logs)
    with np.errstate(invalid="ignore"):
        if logs.shape[1] > 1:
            middle = np.nanmedian(logs, axis=1, keepdims=True)
            # of three values one is the median itself: the mean of the other two stands for the spread
            apart = np.nansum(np.abs(logs - middle), axis=1) / (logs.shape[1] - 1)
            apart = apart * 1.2
        elif len(logs) > 1:
            apart = np.abs(logs[:1, 0] - logs[1:2, 0]) / np.sqrt(2) * 1.4826
        else:
            return np.zeros(logs.shape[-1])
    level = np.nanmax(np.nanmedian(logs, axis=1), axis=0)
    small = level < peak + np.log(SMALL)
    found = np.zeros(logs.shape[-1])
    for part in (small, ~small):
        if part.any():  # a few sizes say too little of themselves: a dip among them would hide itself
            found[part] = np.nanmedian(apart[:, part] if part.sum() >= FEW else apart)
    return np.nan_to_num(found)


def stretches(flags, sizes, depth, of: int) -> list[dict]:
    """flags[repeat, size] -> [{"from_bytes", "to_bytes", "depth_pct", "times", "of", "to_the_end"}], neighbours joined."""
    found, count = [], len(sizes)
    times = flags.sum(axis=0)
    at = 0
    while at < count:
        if not times[at]:
            at += 1
            continue
        end = at
        while end + 1 < count and times[end + 1]:
            end += 1
        part = np.where(flags[:, at : end + 1], depth[:, at : end + 1], 0)
        found.append(
            {
                "from_bytes": int(sizes[at]),
                "to_bytes": int(sizes[end]),
                "depth_pct": round(float(100 * np.median(part[part > 0]) if end == at else 100 * part.max()), 1),
                "times": int(times[at : end + 1].max()),
                "of": of,
                "to_the_end": end == count - 1 and end > at,
            }
        )
        at = end + 1
    return found


def find(busbw, sizes) -> dict:
    """{"dips": in most of the repeats, "passing": in fewer, "notches": smaller ones of the middle repeat, "below_pct": size -> by how
    much that repeat is below what its own curve says, "resolution_pct": the smallest
    dip that can be told from the spread between repeats}"""
    sigma = 1 - np.exp(-NOISE * noise(busbw))
    fallen, hollow = depths(busbw, sizes)
    first = np.where(np.arange(len(sizes)) == 0, FIRST, 0.0)
    limits = np.maximum.reduce([sigma, first, np.full(len(sizes), FALL)]), np.maximum.reduce([sigma, first, np.full(len(sizes), DIP)])
    deep, flags = np.maximum(fallen, hollow), (fallen >= limits[0]) | (hollow >= limits[1])
    of = busbw.shape[1]
    often = flags & (flags.sum(axis=0) * 2 > of)
    middle = np.nanmedian(busbw, axis=1, keepdims=True)
    gentle = np.maximum(*depths(middle, sizes))[0]
    small = (gentle >= np.maximum(NOTCH, sigma)) & ~often.any(axis=0)
    small[0] = False
    return {
        "dips": stretches(often, sizes, deep, of),
        "passing": stretches(flags & ~often.any(axis=0), sizes, deep, of),
        "notches": stretches(small[None], sizes, gentle[None], 1),
        "below_pct": dict(zip(sizes.tolist(), (100 * gentle).tolist())),
        "resolution_pct": round(float(100 * limits[1][1:].max()), 1) if len(sizes) > 1 else None,
    }


def jagged(busbw, sizes) -> list[dict]:
    """Stretches in which the middle repeat swings up and down: [{"from_bytes", "to_bytes", "swing_pct"}]."""
    logs, found = np.log(np.nanmedian(np.asarray(busbw, float), axis=1)), []
    if logs.shape[1] < SWINGS + 2:
        return []
    x = np.log(np.asarray(sizes, float))
    part = (x[1:-1] - x[:-2]) / (x[2:] - x[:-2])
    off = logs[:, 1:-1] - (logs[:, :-2] * (1 - part) + logs[:, 2:] * part)
    least = np.where(np.all(np.sign(off) == np.sign(off[:1]), axis=0), np.sign(off[0]) * np.abs(off).min(axis=0), 0.0)
    start = 0
    for at in range(1, len(least) + 1):
        if at < len(least) and abs(least[at]) > ROUGH and abs(least[at - 1]) > ROUGH and least[at] * least[at - 1] < 0:
            continue
        if at - start >= SWINGS and abs(least[start]) > ROUGH:
            swing = 100 * float(np.abs(least[start:at]).max())
            found.append({"from_bytes": int(sizes[start + 1]), "to_bytes": int(sizes[at]), "swing_pct": round(swing, 1)})
        start = at
    return found
