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
