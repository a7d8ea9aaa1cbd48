"""What `view` returns."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Viewed:
    """A study that was shown until Ctrl-C, and its address."""

    study: str
    address: str

    def __repr__(self) -> str:
        return f"{self.study}: server stopped; nothing was changed"
