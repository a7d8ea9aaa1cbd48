"""Read the labels of a base set: where an image is void, and where no object may go.

Conventions: masks (H, W) have the size of the image. The ego vehicle is given by a mask file (above 0 on it,
any size), a class of the study, or a label id of the original truth; by default it comes from the layout of
the data set (Cityscapes' label ids).
"""

from __future__ import annotations

from functools import cached_property, lru_cache
from pathlib import Path

import numpy as np

from faultscape.classes.class_lists import table
from faultscape.corpus.layouts.layout import Frame, Layout
from faultscape.errors import ImageError, OptionError, StudyError, closest
from faultscape.formats.label_maps import read_map
from faultscape.maps import runs
from faultscape.maps.resize import nearest
from faultscape.reading.study import Study
from faultscape.study.tables import label_maps
from faultscape.study.tables.corpus import Image, part_name
from faultscape.verbs.stress.parents import Base, frames_of_set


class BaseLabels:
    """Reads the labels of a base under a truth; StudyError if no image has one."""

    def __init__(self, study: Study, base: Base, truth: str, ego: str | None) -> None:
        self._study = study
        self._folder = label_maps.truth(study.root, truth)
        self._places = table(study.classes)
        self.truth = truth
        self._void = len(study.classes)
        self._ego = ego
        self._base = base
        self.ego_seen = False  # whether any requested image shows it
        self._names = study.classes.names
        parts = study.manifest(self._folder)
        held = {
            number: set(label_maps.read_ids(self._folder, number, parts[part_name(number)]))
            for number in {i.shard for i in base.images}
            if part_name(number) in parts
        }
        self.images = tuple(image for image in base.images if image.id in held.get(image.shard, ()))
        self.without = tuple(image.id for image in base.images if image.id not in held.get(image.shard, ()))
        if not self.images:
            raise StudyError(
                f"--set {base.name}: no image of it has a label of truth {truth!r}; blending needs "
                "labels: import them with `faultscape label import`, or collect the set with --layout"
            )
        self._shard = lru_cache(maxsize=2)(
            lambda number: label_maps.read_maps(self._folder, number, parts[part_name(number)])
        )
        if ego is not None and not Path(ego).is_file() and ego not in self._names and not ego.isdecimal():
            raise OptionError(
                f"--ego {ego!r}: is not a mask file, a class of the study or a label "
                f"number.{closest(ego, list(self._names))}"
            )

    def own(self, image: Image) -> np.ndarray:
        """Return the label map (h, w) of an image in its original ids, at the image's size."""
        return nearest(runs.decode(self._shard(image.shard)[image.id]), (image.width, image.height))

    def places(self, image: Image) -> np.ndarray:
        """Return the label map (H, W) as places of the study's classes."""
        return self._places[self.own(image)]

    def void(self, image: Image) -> np.ndarray:
        """Return (H, W), where an image has no class."""
        return self.places(image) == self._void

    def forbidden(self, image: Image) -> np.ndarray | None:
        """Return (H, W), where no object may go; None without restrictions."""
        if self._ego is None:
            return self._of_layout(image)
        if Path(self._ego).is_file():
            mask = nearest(self._mask, (image.width, image.height)) > 0
        elif self._ego in self._names:
            mask = self.places(image) == self._names.index(self._ego)
        else:
            mask = self.own(image) == int(self._ego)
        self.ego_seen |= bool(mask.any())
        return mask

    def _of_layout(self, image: Image) -> np.ndarray | None:
        """Return where the ego vehicle is, by the data set's own labels."""
        layout, frames = self._frames
        if (
            layout is None
            or layout.read_ego is None
            or (frame := frames.get(image.id)) is None
            or not frame.truth
        ):
            return None
        return nearest(layout.read_ego(frame).astype(np.uint8), (image.width, image.height)) > 0

    @cached_property
    def _frames(self) -> tuple[Layout | None, dict[str, Frame]]:
        return frames_of_set(self._study, self._base)

    @cached_property
    def _mask(self) -> np.ndarray:
        try:
            return read_map(str(self._ego))
        except ImageError as error:
            raise OptionError(f"--ego {error}") from None
