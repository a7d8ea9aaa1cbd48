"""What `fit` returns: what it fitted to a model, and what that changed."""

from __future__ import annotations

from dataclasses import dataclass

from faultscape.errors import counted


@dataclass(frozen=True)
class Fitted:
    """The temperature of a model, or one a class, and the negative log-likelihood and calibration error a pixel before and after it."""

    study: str
    model: str
    source: str
    values: dict[str, float]
    nll: tuple[float, float]
    ece: tuple[float, float]
    images: int
    pixels: int

    def __repr__(self) -> str:
        shown = ", ".join(f"{name} {value:.3g}" if name else f"{value:.3g}" for name, value in list(self.values.items())[:6])
        more = ", ..." if len(self.values) > 6 else ""
        lines = [f"{self.model}: temperature {shown}{more}, on {self.pixels:,} pixels of {counted(self.images, 'image')}"]
        lines.append(f"NLL      {self.nll[0]:.4f} before, {self.nll[1]:.4f} after")
        lines.append(f"ECE      {self.ece[0]:.4f} before, {self.ece[1]:.4f} after (on the pixels that it was fitted to)")
        lines.append(f"next     faultscape predict {self.study} {self.model}={self.source}")
        return "\n".join(lines)
