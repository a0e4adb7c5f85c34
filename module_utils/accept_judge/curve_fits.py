"""Fits of bus bandwidth over the logarithm of the message size. NumPy alone: SciPy's start would cost more than a whole cluster's fits."""

from __future__ import annotations

import numpy as np

STEPS = 40  # of the logistic fit; it settles in about ten
KNEE = 0.9  # of the plateau


def isotonic(values) -> np.ndarray:
    """The closest curve that never falls (pool adjacent violators)."""
    blocks = []  # (mean, weight)
    for value in values:
        mean, weight = float(value), 1
        while blocks and blocks[-1][0] > mean:
            before, count = blocks.pop()
            mean = (mean * weight + before * count) / (weight + count)
            weight += count
        blocks.append((mean, weight))
    return np.concatenate([np.full(weight, mean) for mean, weight in blocks]) if blocks else np.array([])


def logistic(sizes, busbw) -> dict | None:
    """{"plateau_gbytes_s", "half_bytes", "slope", "residual_pct"} of plateau / (1 + exp(-slope * (log2 size - log2 half))), fitted to the
    logarithm of the bandwidth, so that small messages count as large ones do, and robustly: a dip does not bend it. None where four sizes
    do not carry a fit."""
    x, y = np.log2(np.asarray(sizes, float)), np.log(np.asarray(busbw, float))
    if len(x) < 4:
        return None
    found = np.array([y.max(), x[np.argmin(np.abs(y - y.max() + np.log(2)))], np.log(2)])
    damping, weights, error = 1e-2, np.ones_like(x), _errors(found, x, y)
    for _ in range(STEPS):
        slopes = _slopes(found, x)
        hessian = (slopes[:, None] * slopes * weights).sum(axis=-1)
        step = _solved(hessian + damping * np.diag(np.diag(hessian) + 1e-9), (slopes * weights * error).sum(axis=-1))
        tried = found + np.clip(step, [-1, -2, -0.3], [1, 2, 0.3])
        after = _errors(tried, x, y)
        if (weights * after**2).sum() <= (weights * error**2).sum():
            moved = np.abs(tried - found).max()
            found, error, damping = tried, after, max(damping / 5, 1e-9)
            if moved < 1e-3:
                break
            weights = 1 / np.maximum(1, np.abs(error) / (2 * np.median(np.abs(error)) + 1e-6))  # Huber's
        else:
            damping *= 5
    if not 0.05 < found[2] < 5:
        return None
    return {
        "plateau_gbytes_s": float(np.exp(found[0])),
        "half_bytes": float(2 ** np.clip(found[1], -30, 90)),
        "slope": float(found[2]),
        "residual_pct": float(100 * np.median(np.abs(error))),
    }


def value(fit: dict, sizes) -> np.ndarray:
    """The fitted bandwidth at these sizes."""
    x = np.log2(np.asarray(sizes, float)) - np.log2(fit["half_bytes"])
    return fit["plateau_gbytes_s"] / (1 + np.exp(-fit["slope"] * x))


def knee_bytes(sizes, fitted) -> int:
    """The smallest size that reaches 90 % of the (isotonic) curve's end."""
    return int(sizes[int(np.argmax(np.asarray(fitted) >= KNEE * fitted[-1]))])


def _errors(found, x, y):
    return y - (found[0] - np.logaddexp(0, -found[2] * (x - found[1])))


def _slopes(found, x):
    """Of the model by log plateau, middle and slope."""
    part = 1 / (1 + np.exp(np.clip(found[2] * (x - found[1]), -60, 60)))
    return np.stack([np.ones_like(x), -found[2] * part, (x - found[1]) * part])


def _solved(matrix, right):
    """Three equations by Cramer's rule: a linear algebra library would wake its threads for them, at ten times the cost."""
    columns = matrix.T
    crossed = np.array([_cross(columns[1], columns[2]), _cross(columns[2], columns[0]), _cross(columns[0], columns[1])])
    whole = (columns[0] * crossed[0]).sum()
    return (crossed * right).sum(axis=1) / whole if whole else np.zeros(3)


def _cross(a, b):
    return np.array([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])
