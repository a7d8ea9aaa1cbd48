"""Networks as models of a study: what their answers depend on, and running them on a shard's images.

Conventions: a batch never spans two shards. While the network runs, images of the next batches are loaded and
results of the last ones encoded.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import cast

import numpy as np

from faultscape.classes import mapping as label_names
from faultscape.classes.class_lists import allowed, table
from faultscape.corpus.photos import read_photo
from faultscape.errors import FaultscapeError, ImageError, ModelError
from faultscape.maps import array_codes, runs
from faultscape.metrics.scorers import NONE
from faultscape.nouns import UNKNOWN
from faultscape.prediction import bounds, devices, stamps, trials
from faultscape.prediction.batches import COUNTED, Batch, Look, Row
from faultscape.prediction.classifiers import Classifier
from faultscape.prediction.doubt_methods import beside_network
from faultscape.prediction.inference import Inference, Output, Prepared, Way
from faultscape.prediction.inputs import size_of
from faultscape.prediction.keep import DOUBT, Keep, parse
from faultscape.prediction.source import Opening, OpenModel, Origin, Part, Request, Source, Trial
from faultscape.prediction.sources import hub, network_folder, torch_network
from faultscape.prediction.sources.functions import of_function
from faultscape.prediction.sources.huggingface import TransformersNetwork
from faultscape.prediction.sources.network import Network
from faultscape.prediction.sources.onnx import OnnxNetwork
from faultscape.study.settings import CLASSIFICATION, ModelOptions, Settings
from faultscape.study.tables.corpus import Image

OPTIONS = (
    "size",
    "mean",
    "std",
    "layout",
    "multiple",
    "batch",
    "threads",
    "window",
    "stride",
    "flip",
    "scales",
    "precision",
    "unmapped",
    "keep",
    "scorer",
    "offsets",
    "revision",
    "crop",
    "temperature",
)
_AHEAD = 2  # batches loaded ahead of the network
_TRIED_AT = (512, 512)  # the size at which the batch is chosen where maps have their images' sizes

_Loaded = tuple[list[Prepared | str], list[str | None], float]


class OpenNetwork(OpenModel):
    """A network that is open on this worker's device, and the labels that its study accepts from it."""

    def __init__(
        self,
        inference: Inference,
        settings: Settings,
        labels: dict[str, str],
        threads: int = 1,
        *,
        bounded: bool = False,
    ) -> None:
        self.inference = inference
        self.threads = threads
        self.device = devices.words(inference.network.device, threads)
        self._settings = settings
        self._bounded = bounded
        self._labels = labels

    def batch_size(self, images: int) -> int:
        """Return how many images the network takes at once."""
        del images
        return self.inference.batch

    def batches(self, batches: Iterable[Sequence[Image]], part: Part) -> Iterator[Batch]:
        """Yield the results, in order; up to ``part.lanes`` batches run at once, independently."""
        yield from _batches(self.inference, batches, self._settings, self._labels, part.lanes, part.look)

    def try_on(self, trial: Trial) -> None:
        """Run the network once on an empty image, or on an image of the study if the empty one gives NaN."""
        with bounds.bounded(when=self._bounded):
            trials.run(self.inference, trial)


# (source, options, plausible numbers of channels, device)
Load = Callable[[str, ModelOptions, tuple[int, ...], str], Network]


def open_network(
    opening: Opening,
    settings: Settings,
    *,
    load: Load,
    runtime: str,
    digest: Callable[[str, ModelOptions], str],
) -> OpenNetwork:
    """Open a network on this worker's device; ModelError if it has changed since the run began."""
    classes = (len(opening.labels), len(settings.class_list))
    options: ModelOptions = {**opening.options, "device": opening.device, "task": settings.task}
    network = inference(opening.source, options, classes, load=load, runtime=runtime, methods=opening.methods)
    now = digest(opening.source, opening.options)
    expected = opening.digest
    if expected.startswith(now) and expected not in (now, now + network.network.weights):
        raise ModelError(
            f"{opening.source}: its weights differ on every load; set a seed, or load them from a file"
            " (they may also have changed while this line ran)"
        )
    if not expected.startswith(now):
        raise ModelError(
            f"{opening.source}: its files changed while this line ran; run the same line again, which"
            " redoes everything with the new ones"
        )
    beside_network.check_fitted(
        opening.methods,
        opening.options.get("scorer", []),
        now + network.network.weights,
        opening.options,
        opening.source,
    )
    bounded = runtime == "onnx" and devices.pick(opening.device, runtime) == "cpu"
    return OpenNetwork(
        network, settings, opening.labels, int(opening.options.get("threads", 1)), bounded=bounded
    )


def inference(
    source: str,
    options: ModelOptions,
    classes: tuple[int, ...] = (),
    *,
    load: Load,
    runtime: str,
    methods: str = "",
) -> Inference:
    """Open a network with the way images are shown to it; ``classes`` are plausible numbers of channels,
    ``methods`` is the folder of the methods fitted to it.
    """
    device = devices.pick(str(options.get("device", "")), runtime)
    fitted = beside_network.load_methods(methods, options.get("scorer", []), source)
    layers = [
        *parse(options.get("keep", [])).embeddings,
        *beside_network.layers_of(fitted),
        *cast("list[str]", options.get("layers", [])),
    ]
    network = load(source, {**options, "layers": layers}, classes, device)
    if options.get("task") == CLASSIFICATION:
        return Classifier(
            network, way_of(options), keep_of(options, CLASSIFICATION), float(options.get("crop", 1))
        )
    return Inference(network, way_of(options), keep_of(options), options.get("temperature", ()), fitted)


def origin(source: Source, request: Request) -> Origin:
    """Return what a network's answers depend on, and the network, which is opened for this."""
    options = request.options
    settings = request.settings
    if source.revision is not None and "revision" not in options:
        options = {**options, "revision": source.revision(request.source)}
    options = cast("ModelOptions", {"threads": 1, **options})  # recorded, because sums depend on it
    digest = source.digest(request.source, options)
    with bounds.bounded(
        when=source.runtime == "onnx" and devices.pick(request.device, source.runtime) == "cpu"
    ):
        opening = Opening(
            source.name,
            request.source,
            options,
            request.held,
            request.device,
            digest,
            methods=request.methods,
        )
        opened = source.open(opening, settings)
        assert isinstance(opened, OpenNetwork)
        network = opened.inference.network
        digest += network.weights
        if source.runtime != "onnx":  # recorded, or it would depend on each worker's device
            options["precision"] = devices.precision_of(options.get("precision", ""), network.device)
        if network.device.startswith("cuda") and "batch" not in options:
            options["batch"] = trials.fitting_batch(opened.inference, settings.working_size or _TRIED_AT)
        trials.count_channels(
            opened.inference, largest(request)
        )  # the order of channels is not a list of ids
        if offsets := trials.offsets(
            opened.inference, options.get("offsets", {}), _first_shown(request), settings.working_size
        ):
            options["offsets"] = offsets
    held = request.held if "labels" in options else {}
    mapping = label_names.of_network(
        request.name, network, settings, request.labels, held, options.get("unmapped", "")
    )
    made = stamps.of_images(digest, settings, request.shards(), options, mapping)
    notes = (*network.notes, *([source.own_code.format(request.source)] if source.own_code else []))
    return Origin(options, mapping, made.stamps, keys=made.keys, notes=notes, digest=digest, opened=opened)


def _first_shown(request: Request) -> Iterator[Image]:
    """Yield the collected images in an order that does not depend on their names."""
    shown = (image for _, images in request.shards() for image in images if not image.parent)
    yield from sorted(shown, key=lambda image: image.key)


def largest(request: Request) -> tuple[int, int]:
    """Return the working size, or the largest image size where maps have those, as (width, height)."""
    sizes = ((image.width, image.height) for _, images in request.shards() for image in images)
    return request.settings.working_size or max(sizes, key=math.prod)


def way_of(options: ModelOptions) -> Way:
    """Return how images are shown to a network, from a model's options."""
    size, window, stride = (
        size_of(options[key], key) if options.get(key) else None for key in ("size", "window", "stride")
    )
    scales = tuple(float(scale) for scale in options.get("scales") or [1.0])
    return Way(
        size if window or scales != (1.0,) else None, window, stride, bool(options.get("flip")), scales
    )


def keep_of(options: ModelOptions, task: str = "segmentation") -> Keep:
    """Return what is kept of a model's answers, from its options."""
    scorers = tuple(word for word in options.get("scorer", []) if word != NONE)
    return replace(
        parse(options.get("keep", [])),
        scorers=scorers,
        others=bool(options.get("counted")),
        answers=task == CLASSIFICATION,
    )


def _batches(
    inference: Inference,
    batches: Iterable[Sequence[Image]],
    settings: Settings,
    labels: dict[str, str],
    lanes: int,
    look: Look | None,
) -> Iterator[Batch]:
    places = table(settings.class_list, labels)
    words = allowed(settings.class_list, labels)

    def load(batch: Sequence[Image]) -> _Loaded:
        start = time.perf_counter()
        out = []
        photos = []
        for image in batch:
            sha = None
            try:
                rgb, sha = read_photo(image)
                out.append(inference.prepare(rgb, settings.working_size or (image.width, image.height)))
            except (ImageError, ModelError) as error:
                out.append(str(error))
            photos.append(sha if image.tagged else None)
        return out, photos, time.perf_counter() - start

    def answer(
        batch: Sequence[Image], prepared: list[Prepared | str], photos: list[str | None], loading: float
    ) -> Callable[[], Batch]:
        """Run the network, and return a function that turns its answers into a batch, in any thread."""
        # after one complete batch: those that ran alongside the first waited for the same compilers
        warm = inference.warm
        good = [item for item in prepared if isinstance(item, Prepared)]
        answers = iter(inference.run(good) if good else [])
        found = [next(answers) if isinstance(item, Prepared) else item for item in prepared]
        model = inference.seconds if good else 0.0

        def rest() -> Batch:
            start = time.perf_counter()
            scoring = 0.0
            rows = []
            for image, item, said, photo in zip(batch, prepared, found, photos, strict=True):
                key = image.key.encode()
                begin = time.perf_counter()
                output = (
                    inference.finish(said, item.target, key)
                    if isinstance(item, Prepared)
                    else Output(None, problem=item)
                )
                scoring += time.perf_counter() - begin
                rows.append(
                    replace(_row(image, output, inference.network.name, places, words, look), photo=photo)
                )
            inference.warm = inference.warm or bool(good)
            return Batch(rows, (loading, model, scoring, time.perf_counter() - start - scoring), warm)

        return rest

    def work(batch: Sequence[Image], loading: Future[_Loaded]) -> Future[Batch]:
        return writer.submit(answer(batch, *loading.result()))

    lanes = 1 if inference.layers else max(1, lanes)  # a layer can be watched for only one batch at a time
    with (
        ThreadPoolExecutor(lanes) as loader,
        ThreadPoolExecutor(lanes) as runner,
        ThreadPoolExecutor(lanes) as writer,
    ):
        under_way: deque[Future[Future[Batch]]] = deque()
        for batch in batches:
            under_way.append(runner.submit(work, batch, loader.submit(load, batch)))
            if len(under_way) > lanes + _AHEAD:
                yield under_way.popleft().result().result()
        while under_way:
            yield under_way.popleft().result().result()


def _row(image: Image, output: Output, name: str, places: np.ndarray, words: str, look: Look | None) -> Row:
    """Return one output encoded; an unknown label is a failure."""
    if output.labels is None:
        return Row(image.id, None, problem=output.problem)
    code = output.answer or runs.encode(output.labels)
    said = output.labels.ravel() if output.answer else runs.labels(code)
    if bad := [int(v) for v in said if places[v] == UNKNOWN]:
        return Row(
            image.id,
            None,
            problem=(
                f"{name}: gave the label {bad[0]}; allowed are {words}; --labels FILE says what labels mean"
            ),
        )
    kept = output.kept
    counts = {}
    if look is not None:
        try:
            counts = {COUNTED: (look(image, output),)}
        except FaultscapeError as error:
            return Row(image.id, None, problem=str(error))
        kept = {kind: held for kind, held in kept.items() if not kind.startswith(DOUBT)}
    codes = {kind: tuple(array_codes.encode(values) for values in held) for kind, held in kept.items()}
    return Row(image.id, code, codes | counts)


def load_onnx(source: str, options: ModelOptions, classes: tuple[int, ...], device: str) -> Network:
    """Open an ONNX file."""
    return OnnxNetwork(source, options, classes, device)


def load_transformers(source: str, options: ModelOptions, classes: tuple[int, ...], device: str) -> Network:
    """Open a folder of the transformers library."""
    del classes
    return TransformersNetwork(source, options, device, source)


def load_hub(source: str, options: ModelOptions, classes: tuple[int, ...], device: str) -> Network:
    """Open a model of the hub, at the revision of the options."""
    del classes
    return TransformersNetwork(hub.folder_of(source, options.get("revision", "")), options, device, source)


def load_exported(source: str, options: ModelOptions, classes: tuple[int, ...], device: str) -> Network:
    """Open a program that torch.export saved."""
    del classes
    return torch_network.exported(source, options, device)


def load_script(source: str, options: ModelOptions, classes: tuple[int, ...], device: str) -> Network:
    """Open a TorchScript file."""
    del classes
    return torch_network.scripted(source, options, device)


def load_trained(source: str, options: ModelOptions, classes: tuple[int, ...], device: str) -> Network:
    """Open a network that `train` made."""
    del classes
    return network_folder.open_trained(source, options, device)


def load_function(source: str, options: ModelOptions, classes: tuple[int, ...], device: str) -> Network:
    """Open what a user's function returns, or is."""
    del classes
    return of_function(source, options, device)
