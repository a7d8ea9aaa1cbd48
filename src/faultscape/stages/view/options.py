"""What a line of `view` asks for.

Conventions: light, as the command line reads it.
"""

from __future__ import annotations

from dataclasses import dataclass

from faultscape.stages.given_options import refuse_empty


@dataclass(frozen=True)
class ViewOptions:
    """All that a line of `view` says: the address and the port that are listened on."""

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
        return f"{self.study} is shown no longer; nothing was changed"
