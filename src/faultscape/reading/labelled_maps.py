"""The stored maps of some images of one shard, of models and of a truth, read for what needs whole maps."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from faultscape.classes.class_lists import narrow, table
from faultscape.maps import runs
from faultscape.maps.resize import nearest
from faultscape.study.settings import Settings
from faultscape.study.tables import label_maps
from faultscape.study.tables.corpus import Image


class ShardMaps:
    """The maps of some images of one shard, as places at working size."""

    def __init__(
        self, root: Path, settings: Settings, models: Sequence[str], truth: str, images: Sequence[Image]
    ) -> None:
        classes, wanted = settings.class_list, {image.id for image in images}
        folders = {model: label_maps.predictions(root, model) for model in models}
        self._tables = {m: narrow(table(classes, settings.models[m].labels)) for m in models}
        self._runs: dict[str | None, dict[str, bytes]] = {}
        self._truth_table = narrow(table(classes))
        self._sizes = {i.id: settings.working_size or (i.width, i.height) for i in images}
        for name, folder in [*folders.items(), *([(None, label_maps.truth(root, truth))] if truth else [])]:
            held = label_maps.read_maps(folder, images[0].shard)
            self._runs[name] = {id_: code for id_, code in held.items() if id_ in wanted}

    def of(self, model: str, image: str) -> np.ndarray | None:
        """Return a model's map of an image, or None."""
        return self._read(self._runs[model].get(image), self._tables[model], image)

    def truth(self, image: str) -> np.ndarray | None:
        """Return the truth of an image, or None."""
        return self._read(self._runs.get(None, {}).get(image), self._truth_table, image)

    def _read(self, code: bytes | None, places: np.ndarray, image: str) -> np.ndarray | None:
        return None if code is None else nearest(runs.decode(code, places), self._sizes[image])
