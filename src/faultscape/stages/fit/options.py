"""What a line of `fit` asks for, as its verb hands it to the stage."""

from __future__ import annotations

from dataclasses import dataclass

from faultscape.choices import FitMethod
from faultscape.errors import OptionError
from faultscape.stages.given_options import refuse_empty


@dataclass(frozen=True)
class FitOptions:
    """All that a line of `fit` says."""

    study: str
    method: FitMethod
    model: str
    validation: str | None = None
    truth: str | None = None
    per_class: bool = False
    pixels: int = 2000
    seed: int = 0
    device: str | None = None

    def __post_init__(self) -> None:
        refuse_empty(self)
        if self.pixels < 1 or self.seed < 0:
            raise OptionError(f"--pixels is 1 or more and --seed 0 or more; got {self.pixels} and {self.seed}")
