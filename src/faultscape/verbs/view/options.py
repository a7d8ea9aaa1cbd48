"""The options of `view`.

Conventions: imports are light, because the command line reads this file.
"""

from __future__ import annotations

from dataclasses import dataclass

from faultscape.verbs.given_options import refuse_empty


@dataclass(frozen=True)
class ViewOptions:
    """The address and the port to listen on."""

    host: str = "127.0.0.1"
    port: int = 8750

    def __post_init__(self) -> None:
        refuse_empty(self)


@dataclass(frozen=True)
class Viewed:
    """A study that was shown until Ctrl-C, and its address."""

    study: str
    address: str

    def __repr__(self) -> str:
        return f"{self.study}: server stopped; nothing was changed"
