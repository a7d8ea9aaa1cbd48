"""Replace a model's maps with those from a different source: all at once when they are made, or not at all if
none can be used.

Conventions: a model *replaces* if it has parts from something else. Its new parts are stored next to the
current ones, named only by receipts (reading.fill). A command that fails or is killed therefore leaves maps,
failures.csv and study.toml unchanged, and the same command resumes from what it had made. In a job array, the
first job that finishes its share takes over.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from faultscape.errors import FaultscapeError, counted
from faultscape.reading.study import Study
from faultscape.study.parts import read_manifest
from faultscape.study.settings import ModelSettings, Settings, add_models
from faultscape.study.tables import label_maps
from faultscape.verbs.predict import shard
from faultscape.verbs.predict.job import Job, Made
from faultscape.verbs.predict.plan import Plan

_REASONS = 2  # reasons for missing maps that the message names


class Takeover:
    """The models of a command that replace existing maps: which have taken over, and which had nothing
    usable, as {name: why}.
    """

    def __init__(self, root: Path, plans: Mapping[str, Plan]) -> None:
        self._root = root
        self._plans = plans
        self.waiting = {name for name, plan in plans.items() if plan.replaces}
        self.refused: dict[str, str] = {}

    def begin(self, study: Study) -> None:
        """Enter the models that replace nothing in study.toml, and read the study again."""
        new = {name: plan.model for name, plan in self._plans.items() if not plan.replaces}
        held = study.reread().settings.models
        if any(held.get(name) != model for name, model in new.items()):
            add_models(study.root, new)
            study.reread()

    def admits(self, name: str, made: Sequence[tuple[Job, Made]]) -> bool:
        """Whether a model's results may be entered; if so, drop what they replace and put the new source in
        study.toml.
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
    """Return the end of an error message, which names the models that keep what they had; '' if none has
    anything.
    """
    what = "answers" if before.classifies else "maps"
    held = [
        n
        for n in names
        if n in before.models and any(p.rows for p in read_manifest(label_maps.predictions(root, n)).values())
    ]
    return "".join(f"; {name} keeps its {what} from {before.models[name].source}" for name in held)


def keeping(root: Path, before: Settings, names: Sequence[str], error: FaultscapeError) -> FaultscapeError:
    """Return an error whose message also says what these models keep."""
    return type(error)(f"{error}{kept_text(root, before, names)}")


def is_other(before: ModelSettings | None, source: str) -> bool:
    """Whether the study had this model with a different source."""
    return before is not None and before.source != source


def _why_none(made: Sequence[tuple[Job, Made]]) -> str:
    """Return how many images had nothing usable, and the most common reasons."""
    failures = [failure for _, part in made for failure in part.failures]
    if not failures:
        return "it has no images"
    often = Counter(why for _, why in failures).most_common(_REASONS)
    first = next(image for image, why in failures if why == often[0][0])
    more = f" (and {counted(len(often) - 1, 'other reason')})" if len(often) > 1 else ""
    return f"{counted(len(failures), 'image')} without one; {first}: {often[0][0]}{more}"
