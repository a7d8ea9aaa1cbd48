"""The class that labels name for an image of classifiers, where they name exactly one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from faultscape.reading.answers import read_label_sets
from faultscape.reading.evidence import verdicts_of
from faultscape.reading.voices import EVERYBODY, Voices
from faultscape.study.settings import Settings
from faultscape.study.tables import label_maps


def true_classes(
    root: Path, settings: Settings, truth: str, images: Sequence[str], voices: Voices = EVERYBODY
) -> dict[str, str]:
    """Return {image: its true class} for labels that name exactly one: a set of one class, or one class with
    the answer yes by ``voices``.
    """
    names, out = settings.classes.names, dict[str, str]()
    yes: dict[str, list[str]] = {}
    for (image, class_), verdict in sorted(verdicts_of(root, truth, voices).items()):
        if verdict:
            yes.setdefault(image, []).append(class_)
    out |= {image: said[0] for image, said in yes.items() if len(said) == 1}
    if truth in label_maps.truths(root):
        sets = read_label_sets(root, settings, truth, images)
        for image, places in zip(images, sets, strict=True):
            if places is not None:
                out.pop(image, None)
                if len(places) == 1:
                    out[image] = names[next(iter(places))]
    return {image: name for image, name in out.items() if image in set(images)}
