"""What `predict` returns."""

from __future__ import annotations

from dataclasses import dataclass, field

from faultscape.errors import counted


@dataclass(frozen=True)
class Predicted:
    """What `predict` stored: {model: (maps, images without a map)}; of how many images it counted maps that
    it did not keep, {model: number}; which models it renamed {old: new} and removed.
    """

    study: str
    models: dict[str, tuple[int, int]]
    renamed: dict[str, str] = field(default_factory=dict)
    removed: tuple[str, ...] = ()
    what: str = "maps"
    counted: dict[str, int] = field(default_factory=dict)

    def __repr__(self) -> str:
        changed = [
            f"{len(done)} {word}"
            for word, done in (("renamed", self.renamed), ("removed", self.removed))
            if done
        ]
        models = [counted(len(self.models), "model")] if self.models or not changed else []
        lines = [f"{self.study}: {', '.join([*models, *changed])}"]
        lines += [f"  {old} is now called {new}" for old, new in self.renamed.items()]
        lines += [
            f"  {name} was removed; labels and selections drawn with it are kept" for name in self.removed
        ]
        for name, (maps, failed) in self.models.items():
            lines.append(
                f"  {name:<24} {counted(maps, self.what[:-1], self.what)}"
                + (
                    f", {counted(self.counted[name], 'map')} of made images counted, not kept"
                    if self.counted.get(name)
                    else ""
                )
                + (f", {counted(failed, 'image')} without one (failures.csv)" if failed else "")
            )
        return "\n".join(lines)
