"""The interface of a kind of model: how a SOURCE is recognised, its options, what its answers depend on, and
how it is opened.

Conventions: the built-in kinds are in `prediction.catalogue`. A user-defined kind is a ``Source`` in its own
file, which needs only ``open``; what it reads follows its name, ``NAME=file.py:SOURCE:PLACE``. Every open
model yields batches: a row per image, with the code of its labels or its problem.

``images`` is how many images the shard has. ``batches`` are lists of images. ``part`` describes their shard.
``trial`` holds the image that the model is tried on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from faultscape.classes.mapping import of_file
from faultscape.corpus.shard_files import Shards
from faultscape.errors import ModelError
from faultscape.prediction import stamps
from faultscape.study.settings import AS_WRITTEN, CLASSIFICATION, ModelOptions, Settings, Task
from faultscape.study.tables.corpus import Image

if TYPE_CHECKING:
    from faultscape.prediction.batches import Batch, Look
    from faultscape.prediction.sources.network import Network

BOTH: tuple[Task, ...] = ("segmentation", CLASSIFICATION)


@dataclass(frozen=True)
class Request:
    """A request to `predict` for one model: NAME=SOURCE, its options, a mapping file, and its previous
    mapping; ``hidden`` are the folders that hold the truth, the study first, and ``methods`` is the folder of
    the methods fitted to it; ``unplaced`` are truths of which no place is recorded.
    """

    name: str  # NAME of NAME=SOURCE
    source: str  # SOURCE, as in the command or study.toml
    settings: Settings  # of the study: its classes, task, working size and models
    shards: Shards  # call it as often as needed, for each (shard, its images)
    options: ModelOptions = field(default_factory=ModelOptions)  # of this command, or earlier and still valid
    labels: str | None = None  # the file that `--labels` names
    held: dict[str, str] = field(default_factory=dict)  # {own label: class or void} from study.toml
    device: str = ""  # as `--device` names it; '' for a GPU where there is one
    hidden: tuple[str, ...] = ()
    methods: str = ""
    unplaced: tuple[str, ...] = ()

    @property
    def scratch_folder(self) -> str | None:
        """The folder of the study, if it is known, for what does not fit into memory."""
        return self.hidden[0] if self.hidden else None


@dataclass(frozen=True)
class Opening:
    """Everything needed to open a model on any worker, as values that JSON can hold. ``digest`` is its digest
    when the run began, ``hidden`` are folders that it may not see, ``methods`` is the folder of the methods
    fitted to it.
    """

    kind: str  # the `name` of its `Source`
    source: str  # what is opened: a path, hf:OWNER/MODEL, exec:COMMAND, ...
    options: Annotated[ModelOptions, AS_WRITTEN] = field(default_factory=ModelOptions)  # all its options
    labels: dict[str, str] = field(default_factory=dict)  # {own label: class name or void}
    device: str = ""  # as `--device` names it; '' for a GPU where there is one
    digest: str = ""
    hidden: tuple[str, ...] = ()
    methods: str = ""

    def refuse_changes(self, digest: str, hint: str = "") -> None:
        """Raise ModelError unless the files have this digest as when the run began: every worker reads them
        again.
        """
        if digest != self.digest:
            raise ModelError(
                f"{self.source}: its files changed while this line ran; run the same line again, which redoes"
                f" everything with the new ones{hint}"
            )


@dataclass(frozen=True)
class Trial:
    """An image on which a model is tried before it is added to the study; also how many images will follow,
    the largest (width, height) of their maps, the folder for what is kept, and what is counted but not kept.
    """

    image: Image  # one of those that will follow
    images: int  # how many images will follow
    size: tuple[int, int]  # (width, height) of the largest of their maps
    where: Path  # the folder for what is kept; need not exist yet
    drop: tuple[str, ...] = ()  # folders of what is only counted, and takes no space


@dataclass(frozen=True)
class Part:
    """The part of a run that an open model gets for one shard: a file or row by image id, how many batches
    may run at once, and a function that counts each answer instead of keeping its doubt.
    """

    files: Mapping[str, str] = field(default_factory=dict)  # {image id: file, or number of its row}
    lanes: int = 1  # batches that may run at the same time; does not affect results
    look: Look | None = None  # counts an answer; its bytes are kept instead of doubt


class OpenModel:
    """A model that is open in this process and predicts images batch by batch.

    ``device`` is a readable name of where it runs, '' if its seconds are not recorded; ``threads`` is the
    number that each of its runs uses, 0 if not set.
    """

    device = ""
    threads = 0

    def batch_size(self, images: int) -> int:
        """Return how many of a shard's images form a batch: all of them, unless a model wants fewer."""
        return images

    def batches(self, batches: Iterable[Sequence[Image]], part: Part) -> Iterator[Batch]:
        """Yield the results for each batch of images, in order; an image that fails becomes a row with a
        problem.
        """
        raise NotImplementedError

    def try_on(self, trial: Trial) -> None:
        """Raise ModelError if the model does not work, or cannot provide what is to be kept; its answer is
        discarded.
        """


@dataclass(frozen=True)
class Origin:
    """What a model's answers depend on: the options and label mapping that are stored, {shard: stamp},
    {shard: {image id: file or row}}, {shard: key}.

    ``source`` is what is opened, if that differs from study.toml; ``opened`` is the model, if it had to be
    opened for this; ``notes`` are printed when the work is done.
    """

    options: ModelOptions  # as study.toml will store them
    labels: dict[str, str]  # {own label: class name or void}, as study.toml will store it
    stamps: dict[int, str]  # {shard: what its answers depend on}, see `prediction.stamps`
    files: Mapping[int, Mapping[str, str]] = field(default_factory=dict)  # {shard: {image id: file or row}}
    keys: dict[int, str] = field(default_factory=dict)  # {shard: key of its images or of the table}
    notes: tuple[str, ...] = ()
    source: str = ""
    digest: str = ""  # of the model itself; '' for a folder of maps
    opened: OpenModel | None = None
    runtime: Literal["", "onnx", "torch"] = ""  # for a model of several networks
    hidden: tuple[str, ...] = ()  # folders that the model may not see


def _of_rules(source: Source, request: Request) -> Origin:
    """Return the origin of a model whose maps depend on its digest, its options and the images."""
    given = of_file(request.labels, request.settings.class_list, None) if request.labels else {}
    digest = source.digest(request.source, request.options)
    made = stamps.of_images(
        digest, request.settings, request.shards(), request.options, given or request.held
    )
    notes = (source.own_code.format(request.source.removeprefix("exec:")),) if source.own_code else ()
    return Origin(
        request.options, given or request.held, made.stamps, keys=made.keys, notes=notes, digest=digest
    )


@dataclass(frozen=True)
class Source:
    """A kind of model. ``name`` is its name in study.toml, ``called`` its name for people, ``written`` the
    form of its SOURCE.

    ``of`` takes (SOURCE, task) and says whether the SOURCE is of this kind. ``check`` takes (NAME, SOURCE)
    and raises ModelError if it is not available. ``digest`` takes (SOURCE, options) and returns a digest of
    the model's files. ``origin`` takes (this entry, the request) and returns what the answers depend on, an
    `Origin`. ``kept_as`` returns the SOURCE as stored in study.toml; ``there`` whether it is still available,
    as far as this machine can tell. ``options`` are the options that it accepts. ``load`` opens a network,
    whose library is ``runtime``, and ``revision`` returns the current revision of a name whose content may
    change. ``own_sizes``: its maps may differ in size from their images; a note reports it. ``here``: it
    answers sooner than a worker starts. ``own_code`` warns that the user's own code runs. ``whole``: if any
    part of it is refused, none of it counts.
    """

    name: str
    called: str
    written: str
    open: Callable[[Opening, Settings], OpenModel]  # opens a model of this kind in this process
    of: Callable[[str, str], bool] = lambda _source, _task: False
    check: Callable[[str, str], None] = lambda _name, _source: None
    kept_as: Callable[[str], str] = lambda source: source
    there: Callable[[str], bool] = lambda source: Path(source).exists()
    digest: Callable[[str, ModelOptions], str] = stamps.digest_of_place
    origin: Callable[[Source, Request], Origin] = _of_rules
    options: tuple[str, ...] = ("resize_maps",)
    tasks: tuple[Task, ...] = BOTH  # of the studies that it fits
    load: Callable[[str, ModelOptions, str], Network] | None = None
    revision: Callable[[str], str] | None = None
    runtime: Literal["", "onnx", "torch"] = ""
    own_sizes: bool = False
    here: bool = False
    own_code: str = ""
    whole: bool = False

    @property
    def sees_images(self) -> bool:
        """Whether its maps are computed from the images, so that they can be remade."""
        return self.load is not None or self.name == "ensemble"
