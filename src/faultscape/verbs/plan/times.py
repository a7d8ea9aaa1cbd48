"""Times of work in words."""

from __future__ import annotations


def duration(hours: float) -> str:
    """Return a time in readable units.

    >>> [duration(h) for h in (0.0, 0.01, 0.83, 1.99, 21, 301.5)]
    ['0 s', '36 s', '50 min', '119 min', '21.0 h', '302 h']
    """
    if hours < 2:
        return f"{60 * hours:.0f} min" if hours >= 1 / 30 else f"{3600 * hours:.0f} s"
    return f"{hours:.1f} h" if hours < 100 else f"{hours:,.0f} h"


def hours_range(low: float, high: float, *, at_least: bool = False) -> str:
    """Return a range of times, rounded for people, of which the high end may be ``at_least`` that.

    >>> hours_range(0.4, 22.4, at_least=True), hours_range(0.1, 0.4), hours_range(130, 130)
    ('24 min to 22+ h', '6 to 24 min', '130 h')
    """
    ends = [f"{60 * h:.0f} min" if h < 2 else f"{h:.0f} h" for h in (low, high)]
    if ends[0].split()[1] == ends[1].split()[1]:
        ends[0] = ends[0].split()[0]
    number, unit = ends[1].split()
    last = f"{number}{'+' if at_least else ''} {unit}"
    return last if ends[0] in (ends[1], number) else f"{ends[0]} to {last}"
