"""How new maps of a model take the place of those that it has from another source: all at once, when they are
made, and not at all where none can be used.

Conventions: a model *replaces* where parts of something else are there. Its new parts lie beside those that
count, named by receipts alone (stages.fill), so that a line that fails or is killed leaves maps, failures.csv
and study.toml as they were, and the same line goes on from what it had made. Jobs of an array take over with
the first that has done its share.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from faultscape.errors import FaultscapeError, counted
from faultscape.stages.predict import shard
from faultscape.stages.predict.job import Job, Made
from faultscape.stages.predict.plan import Plan
from faultscape.study.parts import read_manifest
from faultscape.study.settings import ModelSettings, Settings, add_models
from faultscape.study.tables import label_maps

_REASONS = 2  # of those for which images have no map, that are said


class Takeover:
    """The models of a line that replace what is there: who has taken over, and of whom nothing could be used
    {name: why}.
    """

    def __init__(self, root: Path, plans: Mapping[str, Plan]) -> None:
        self._root, self._plans = root, plans
        self.waiting = {name for name, plan in plans.items() if plan.replaces}
        self.refused: dict[str, str] = {}

    def begin(self) -> None:
        """Enter in study.toml the models that replace nothing."""
        add_models(self._root, {name: plan.model for name, plan in self._plans.items() if not plan.replaces})

    def admits(self, name: str, made: Sequence[tuple[Job, Made]]) -> bool:
        """Whether what was made of a model may count; what it replaces goes then, and study.toml names the
        new source.
        """
        if name not in self.waiting:
            return True
        stamps = self._plans[name].stamps
        stay = shard.staying(self._root, name, stamps).values()
        if not any(part.rows for part in [*stay, *(part for _, part in made)]):
            self.refused[name] = _why_none(made)
            for job, _ in made:
                shard.spool_path(label_maps.predictions(self._root, name), job.number).unlink(missing_ok=True)
            return False
        shard.forget(self._root, name, stamps, made)
        add_models(self._root, {name: self._plans[name].model})
        self.waiting.remove(name)
        return True


def kept_text(root: Path, before: Settings, names: Sequence[str]) -> str:
    """Return which models keep what they had, to end an error with; ''  where none has anything."""
    what = "answers" if before.classifies else "maps"
    held = [
        n
        for n in names
        if n in before.models and any(p.rows for p in read_manifest(label_maps.predictions(root, n)).values())
    ]
    return "".join(f"; {name} keeps its {what} from {before.models[name].source}" for name in held)


def keeping(root: Path, before: Settings, names: Sequence[str], error: FaultscapeError) -> FaultscapeError:
    """Return a mistake with what these models keep in spite of it."""
    return type(error)(f"{error}{kept_text(root, before, names)}")


def is_other(before: ModelSettings | None, source: str) -> bool:
    """Whether a model stood in the study with another source than this one."""
    return before is not None and before.source != source


def _why_none(made: Sequence[tuple[Job, Made]]) -> str:
    """Return for how many images nothing could be used, and the commonest reasons."""
    failures = [failure for _, part in made for failure in part.failures]
    if not failures:
        return "it has no images"
    often = Counter(why for _, why in failures).most_common(_REASONS)
    first = next(image for image, why in failures if why == often[0][0])
    more = f" (and {counted(len(often) - 1, 'other reason')})" if len(often) > 1 else ""
    return f"{counted(len(failures), 'image')} without one; {first}: {often[0][0]}{more}"
