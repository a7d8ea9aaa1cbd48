"""What `predict` returns."""

from __future__ import annotations

from dataclasses import dataclass, field

from faultscape.errors import counted


@dataclass(frozen=True)
class Masked:
    """What `predict --mask-unknown` made of a model's maps: the folder of masks, the scorer, the lowest
    ``score`` that is void, and the ``rate`` of known pixels of so many validation ``images`` that it flags at
    most.
    """

    folder: str
    scorer: str
    score: float
    rate: float
    images: int


@dataclass(frozen=True)
class Predicted:
    """What `predict` stored, and which models it renamed and removed.

    ``counted`` holds {model: images made by `stress` whose maps were counted but not kept}.
    """

    study: str
    models: dict[str, tuple[int, int]]  # {model: (maps or answers stored, images without one)}
    renamed: dict[str, str] = field(default_factory=dict)  # {old name: new name}
    removed: tuple[str, ...] = ()  # names of models that left the study
    what: str = "maps"  # ``maps``, or ``answers`` (of classifiers)
    counted: dict[str, int] = field(default_factory=dict)
    masked: dict[str, Masked] = field(default_factory=dict)  # {NAME-masked: how it was made}

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
        for name, of in self.masked.items():
            lines.append(
                f"  {name}: void from {of.scorer} {of.score:.5g} on, at most {100 * of.rate:g} % of the known"
                f" pixels of {counted(of.images, 'validation image')}; masks in {of.folder}"
            )
        return "\n".join(lines)
