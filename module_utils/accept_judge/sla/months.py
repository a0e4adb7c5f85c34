"""A calendar month in the contract's time zone: its bounds are exact where the clock changes and in leap years."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from zoneinfo import ZoneInfo

EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
MICROSECOND = datetime.timedelta(microseconds=1)


@dataclass(frozen=True)
class Month:
    """`start` and `end` in microseconds since 1970; `last_day` is the last date of the month."""

    name: str
    zone: str
    start: int
    end: int
    last_day: datetime.date

    @property
    def piece(self):
        return [(self.start, self.end)]

    def back(self, count: int) -> str:
        """The name of the month `count` months before."""
        year, month = map(int, self.name.split("-"))
        total = year * 12 + month - 1 - count
        return f"{total // 12:04d}-{total % 12 + 1:02d}"


def month(name: str, zone: str) -> Month:
    """Month of "YYYY-MM"; ValueError for anything else, or a zone that is unknown."""
    try:
        first = datetime.datetime.strptime(name, "%Y-%m")
        after = (first + datetime.timedelta(days=32)).replace(day=1)
        place = ZoneInfo(zone)
    except (ValueError, KeyError, OSError, OverflowError) as error:
        raise ValueError(f"{name!r} is no month YYYY-MM, or {zone!r} no time zone") from error
    start, end = (micros(moment.replace(tzinfo=place)) for moment in (first, after))
    return Month(first.strftime("%Y-%m"), zone, start, end, after.date() - datetime.timedelta(days=1))


def micros(moment: datetime.datetime) -> int:
    return (moment - EPOCH) // MICROSECOND


def text(at: int) -> str:
    return (EPOCH + datetime.timedelta(microseconds=at)).isoformat().replace("+00:00", "Z")
