"""Exact figures as text. Availability is cut, never rounded: 99.896 is not 99.9."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction

from .intervals import HOUR

CENT = Decimal("0.01")


def percent(share: Fraction | None, digits: int = 3) -> str | None:
    """A share as per cent, cut off after `digits`."""
    return None if share is None else _cut(share * 100, digits)


def hours(microseconds: int) -> str:
    """Hours, cut off after four decimals, without needless zeros."""
    text = _cut(Fraction(microseconds, HOUR), 4).rstrip("0").rstrip(".")
    return text or "0"


def share_of(amount: Decimal, pct: str) -> Decimal:
    """Per cent of an amount, to the cent, half a cent up: the one place where money is rounded."""
    return (amount * Decimal(pct) / 100).quantize(CENT, ROUND_HALF_UP)


def below(share: Fraction, pct: str) -> bool:
    """Is the exact share below the threshold? Equal is not below."""
    return share * 100 < Fraction(pct)


def _cut(value: Fraction, digits: int) -> str:
    scaled = value.numerator * 10**digits // value.denominator
    whole, rest = divmod(scaled, 10**digits)
    return f"{whole}.{rest:0{digits}d}"
