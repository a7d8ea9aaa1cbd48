"""How long each stage and each act of the demo took."""

from __future__ import annotations

import time
from typing import Any


class Clock:
    """Prints how long each stage and each act took, and keeps it."""

    def __init__(self) -> None:
        self._start = time.perf_counter()
        self.stages: dict[str, float] = {}
        self.acts: dict[str, float] = {}

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self._start

    def stage(self, name: str, result: Any = None) -> None:
        """End a stage."""
        took = self.seconds - sum(self.stages.values())
        self.stages[name] = self.stages.get(name, 0.0) + took
        print(f"[{name}, {took:.1f} s]" + (f" {result}" if result is not None else ""), flush=True)

    def act(self, name: str) -> None:
        """End an act: all stages since the one before."""
        self.acts[name] = self.seconds - sum(self.acts.values())
        print(f"[{name}: {self.acts[name]:.0f} s in all]\n", flush=True)
