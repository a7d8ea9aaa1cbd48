"""One shard of one model, into its spool: what is done there already is not done again, and an image that kills its worker is found and left out.

Conventions: batches lie on a grid over the shard's rows, so that results do not depend on where a run was interrupted. When workers died twice in a row without coming
further, the next batch is done image by image, under a watch that finds the one which kills (study/watch.py); a batch that was begun so is ended so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from faultscape.corpus.photos import read_photo
from faultscape.errors import ModelError
from faultscape.prediction import catalogue, devices
from faultscape.prediction.batches import Batch, Look, Row, folder_batches, network_batches, record, unrecord
from faultscape.prediction.inference import Inference
from faultscape.prediction.sources.folder import FolderModel
from faultscape.prediction.sources.programs import program_batch
from faultscape.study.settings import Settings
from faultscape.study.spool import Spool
from faultscape.study.tables.corpus import Image
from faultscape.study.watch import Watch

DEADLY = "its worker died over it each time (memory, or a crash in a library); all other images of its shard were done"
_SPLIT = 2  # deaths in a row after which a batch is done image by image; after one, often a node lost by chance, sums stay those of whole batches
_FOLDER = 64


class Work:
    """A model that is open for one shard: ``model`` has its kind, source, options, labels, device and digest, ``files`` a folder's map by image id."""

    def __init__(
        self, settings: Settings, model: dict[str, Any], files: dict[str, str], lanes: int = 1, look: Look | None = None
    ) -> None:
        self._settings, self._about, self._files, self._lanes, self._look = settings, model, files, lanes, look
        self._kind, options, labels = model["kind"], model["options"], model["labels"]
        self._threads = int(options.get("threads", 1))
        self._model: Any = None
        self.device = ""
        if self._kind in catalogue.NETWORKS:
            wanted = {**options, "device": model["device"], "task": settings.task}
            self._model = catalogue.held_model(
                self._kind, model["source"], wanted, model["digest"], (len(labels), len(settings.class_list))
            )
            self.device = devices.words(self._model.network.device, self._threads)
        else:
            resize = bool(options.get("resize_maps"))
            self._model = FolderModel(settings.class_list, labels, settings.working_size, resize_maps=resize)

    def fill(self, spool: Spool, images: Sequence[Image], tick: Callable[[int], None], attempt: int = 0) -> None:
        """Do what is missing of these images, in order, a record a batch."""
        watch = Watch(spool.path.parent, spool.path.name, attempt)
        done = {row.id for code in spool for row in unrecord(code).rows}
        tick(len(done))
        size = self._size(len(images))
        grid = [images[first : first + size] for first in range(0, len(images), size)]
        todo = [left for batch in grid if (left := [image for image in batch if image.id not in done])]
        with devices.fixed_threads(self._threads if self.device else 0):
            if todo and (attempt >= _SPLIT or len(done) % size):
                self._one_by_one(spool, todo.pop(0), watch, tick)
            for batch in self._batches(todo):
                spool.append(record(batch))
                tick(len(batch.rows))
        watch.end()

    def try_one(self, image: Image) -> None:
        """Do one image and keep nothing of it; ModelError where a program cannot be run, or writes no map."""
        for _ in self._batches([[image]]):
            pass

    def _one_by_one(self, spool: Spool, images: Sequence[Image], watch: Watch, tick: Callable[[int], None]) -> None:
        for image in images:
            dead = Batch([Row(image.id, None, problem=DEADLY)])
            for batch in self._batches([[image]]) if watch.begin(image.id) else [dead]:
                spool.append(record(batch))
                tick(1)

    def _size(self, images: int) -> int:
        if isinstance(self._model, Inference):
            return self._model.network.batch
        return _FOLDER if self._kind == "folder" else images

    def _batches(self, batches: Sequence[Sequence[Image]]) -> Iterator[Batch]:
        source, labels = self._about["source"], self._about["labels"]
        if isinstance(self._model, Inference):
            yield from network_batches(self._model, batches, self._settings, labels, read_photo, self._lanes, self._look)
        elif self._kind == "folder":
            yield from folder_batches(self._model, batches, self._files, source)
        else:
            for batch in batches:
                self._unchanged()
                made = program_batch(self._model, batch, source.removeprefix("exec:"))
                self._unchanged("; a file that the program writes itself must not stand in its command")
                yield made

    def _unchanged(self, hint: str = "") -> None:
        """Raise ModelError when a program's files are not those of the call: a program is opened anew each time it is run."""
        kind, source, options = self._kind, self._about["source"], self._about["options"]
        if catalogue.digest(kind, source, options) != self._about["digest"]:
            raise ModelError(
                f"{source}: its files changed while this line ran; run the same line again, which does all of it with the new ones{hint}"
            )
