"""What a kind of model is to `predict`: how a SOURCE is recognised, what it can be told, what its answers
follow from, and how it is opened.

Conventions: the kinds that ship stand in `prediction.catalogue`. One from outside is a ``Source`` in a file
of its own, with ``open`` alone if need be: what it reads follows its name, ``NAME=file.py:SOURCE:PLACE``. An
open model yields batches, whatever it is: a row an image, with the code of its labels or what went wrong.

``images`` is how many images the shard has. ``batches`` are lists of images. ``part`` says which shard they
belong to. ``trial`` holds the images that the model is tried on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from faultscape.classes.mapping import of_file
from faultscape.prediction import stamps
from faultscape.study.settings import AS_WRITTEN, CLASSIFICATION, ModelOptions, Settings, Task
from faultscape.study.tables.corpus import Image

if TYPE_CHECKING:
    from faultscape.prediction.batches import Batch, Look
    from faultscape.prediction.sources.network import Network

# reads the corpus shard by shard, whenever it is called
Shards = Callable[[], Iterable[tuple[int, Sequence[Image]]]]
BOTH: tuple[Task, ...] = ("segmentation", CLASSIFICATION)


@dataclass(frozen=True)
class Request:
    """What `predict` was asked of one model: NAME=SOURCE, the options that hold for it, a mapping file, and
    the mapping that it had before; ``hidden`` are folders in which the truth lies, the study first,
    ``methods`` that of the methods fitted to it.
    """

    name: str  # NAME of NAME=SOURCE
    source: str  # SOURCE, as the line or study.toml has it
    settings: Settings  # the study's: its classes, task, working size and models
    shards: Shards  # call it, as often as needed, for each (shard, its images)
    options: ModelOptions = field(default_factory=ModelOptions)  # this line's, and earlier ones still valid
    labels: str | None = None  # the file that `--labels` names
    held: dict[str, str] = field(default_factory=dict)  # {own label: class or void} that study.toml holds
    device: str = ""  # as `--device` names it; '' for a GPU where there is one
    hidden: tuple[str, ...] = ()
    methods: str = ""


@dataclass(frozen=True)
class Opening:
    """What it takes to open a model, wherever that is: words that JSON can hold. ``digest`` is what it was
    when the run began, ``hidden`` are folders that it may not see, ``methods`` that of the methods fitted to
    it.
    """

    kind: str  # the `name` of its `Source`
    source: str  # what is opened: a path, hf:OWNER/MODEL, exec:COMMAND, ...
    options: Annotated[ModelOptions, AS_WRITTEN] = field(default_factory=ModelOptions)  # all that it is told
    labels: dict[str, str] = field(default_factory=dict)  # {own label: class name or void}
    device: str = ""  # as `--device` names it; '' for a GPU where there is one
    digest: str = ""
    hidden: tuple[str, ...] = ()
    methods: str = ""


@dataclass(frozen=True)
class Trial:
    """An image on which a model is tried before the study learns of it: how many are to come, the largest
    (width, height) of their maps, where what is kept of them goes, and what of it is counted and not kept.
    """

    image: Image  # one of those that are to come
    images: int  # how many images are to come
    size: tuple[int, int]  # (width, height) of the largest of their maps
    where: Path  # the folder for what is kept, which need not exist yet
    drop: tuple[str, ...] = ()  # folders of what is counted only, and takes no room


@dataclass(frozen=True)
class Part:
    """What an open model is told of the shard that it works on: a file or row by image id, how many batches
    may run at once, and what counts each answer instead of keeping its doubt.
    """

    files: Mapping[str, str] = field(default_factory=dict)  # {image id: file, or number of its row}
    lanes: int = 1  # batches that may run at the same time; results do not depend on it
    look: Look | None = None  # counts an answer, and its bytes are kept instead of doubt


class OpenModel:
    """A model that is open in this process: what it says about images, batch by batch.

    ``device`` is where it runs, in words, nothing where its seconds are not noted; ``threads`` those of each
    of its runs, 0 where it is not asked.
    """

    device = ""
    threads = 0

    def batch_size(self, images: int) -> int:
        """Return how many of a shard's images make a batch: all of them, unless a model says less."""
        return images

    def batches(self, batches: Iterable[Sequence[Image]], part: Part) -> Iterator[Batch]:
        """Yield what the model says about each batch of images, in order; an image that it cannot do is a row
        with a problem.
        """
        raise NotImplementedError

    def try_on(self, trial: Trial) -> None:
        """ModelError where the model cannot work, or cannot give what is to be kept; nothing of what it says
        is kept.
        """


@dataclass(frozen=True)
class Origin:
    """What a model's answers follow from: options and label mapping that it is stored with, {shard: stamp},
    {shard: {image id: file or row}}, {shard: key}.

    ``source`` is what is opened, where that is not as study.toml keeps it; ``opened`` the model, where it had
    to be opened for this; ``notes`` what to say when work is done.
    """

    options: ModelOptions  # as study.toml is to keep them
    labels: dict[str, str]  # {own label: class name or void}, as study.toml is to keep it
    stamps: dict[int, str]  # {shard: what its answers follow from}, see `prediction.stamps`
    files: dict[int, dict[str, str]] = field(default_factory=dict)  # {shard: {image id: file or row}}
    keys: dict[int, str] = field(default_factory=dict)  # {shard: key of its images or of the table}
    notes: tuple[str, ...] = ()
    source: str = ""
    digest: str = ""  # of the model itself; '' for a folder of maps
    opened: OpenModel | None = None
    runtime: Literal["", "onnx", "torch"] = ""  # of a model of several networks
    hidden: tuple[str, ...] = ()  # folders that the model may not see


def _of_rules(source: Source, request: Request) -> Origin:
    """Return the origin of a model whose maps follow from its digest, its options and the images."""
    given = of_file(request.labels, request.settings, None) if request.labels else {}
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
    """A kind of model. ``name`` is how study.toml calls it, ``called`` how a person does, ``written`` how its
    SOURCE is written.

    ``of`` takes (SOURCE, task) and says whether it is one. ``check`` takes (NAME, SOURCE) and raises
    ModelError where it cannot be had. ``digest`` takes (SOURCE, options) and returns a digest of the
    model's files. ``origin`` takes (this entry, the request) and returns what the answers follow from, an
    `Origin`. ``kept_as`` is how study.toml keeps it; ``there`` whether it can still be had, as far as that is
    seen from here. ``options`` are what it can be told. ``load`` opens a network, whose library is
    ``runtime``, and ``revision`` says which it is now where a name may come to stand for another.
    ``own_sizes``: its maps may have other sizes than their images; a note reports it. ``here``: it answers
    sooner than a worker starts. ``own_code`` warns that the user's own code runs. ``whole``: where some of it
    is refused, nothing of it counts.
    """

    name: str
    called: str
    written: str
    open: Callable[[Opening, Settings], OpenModel]  # a model of this kind, in this process
    of: Callable[[str, str], bool] = lambda _source, _task: False
    check: Callable[[str, str], None] = lambda _name, _source: None
    kept_as: Callable[[str], str] = lambda source: source
    there: Callable[[str], bool] = lambda source: Path(source).exists()
    digest: Callable[[str, ModelOptions], str] = stamps.digest_of_place
    origin: Callable[[Source, Request], Origin] = _of_rules
    options: tuple[str, ...] = ("resize_maps",)
    tasks: tuple[Task, ...] = BOTH  # those of the studies that it fits
    load: Callable[[str, ModelOptions, tuple[int, ...], str], Network] | None = None
    revision: Callable[[str], str] | None = None
    runtime: Literal["", "onnx", "torch"] = ""
    own_sizes: bool = False
    here: bool = False
    own_code: str = ""
    whole: bool = False

    @property
    def sees_images(self) -> bool:
        """Whether its maps follow from the images themselves, so that they can be made again."""
        return self.load is not None or self.name == "ensemble"
