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
from typing import cast, get_args

import numpy as np

from faultscape.choices import Unmapped
from faultscape.classes import mapping as label_names
from faultscape.classes.class_lists import allowed, table
from faultscape.corpus.photos import read_photo_again
from faultscape.errors import FaultscapeError, ImageError, ModelError, OptionError
from faultscape.maps import array_codes, runs
from faultscape.metrics.scorers import NONE, check_scorers
from faultscape.nouns import UNKNOWN
from faultscape.prediction import bounds, devices, doubt_methods, stamps, trials
from faultscape.prediction.batches import COUNTED, Batch, Look, Row
from faultscape.prediction.inference import Classifier, Inference, Output, Prepared, Spent, Way
from faultscape.prediction.inputs import size_of, wrong_colours, wrong_number
from faultscape.prediction.keep import DOUBT, Keep, parse
from faultscape.prediction.source import Opening, OpenModel, Origin, Part, Request, Source, Trial
from faultscape.prediction.sources.network import Network
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
    "score_on",
    "unmapped",
    "keep",
    "scorer",
    "offsets",
    "revision",
    "crop",
    "temperature",
)
UNMAPPED = get_args(Unmapped)
_NAMES = {"size": "input-size", "window": "window", "stride": "stride"}
_LARGE = 2  # no mean or std of pixels on 0..1 exceeds this
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


Load = Callable[[str, ModelOptions, str], Network]  # (source, options, device)


def check_options(options: ModelOptions) -> None:
    """Raise OptionError for the first invalid option; print a note for a mean or std that looks like one for
    pixels on 0..255.
    """
    for key in ("mean", "std"):
        values = options.get(key) or []
        if values and (wrong := wrong_colours(key, values)):
            raise OptionError(wrong)
        if values and max(map(abs, values)) > _LARGE:
            print(
                f"note: pixels are on 0..1, and a {key} of {max(values, key=abs):g} is for pixels on 0..255;"
                " divide it by 255"
            )
    if options.get("layout", "") not in ("", "nchw", "nhwc"):
        raise OptionError(f"layout {options['layout']!r} is not known; use nchw or nhwc")
    for key in ("batch", "threads", "multiple"):
        if wrong := wrong_number(key, options.get(key, 1)):
            raise OptionError(wrong)
    sizes = {key: size_of(options[key], _NAMES[key]) for key in _NAMES if key in options}
    for key in (key for key, size in sizes.items() if size is None):
        raise OptionError(f"{_NAMES[key]} is WIDTHxHEIGHT, for example 512x512; got {options[key]!r}")
    if "stride" in options:
        if "window" not in options:
            raise OptionError("--stride is the step of windows; give --window WIDTHxHEIGHT too")
        (wide, tall), (right, down) = sizes["window"] or (0, 0), sizes["stride"] or (0, 0)
        if right > wide or down > tall:
            raise OptionError(
                f"a stride of {options['stride']} leaves gaps between windows of {options['window']}; give a"
                " smaller one"
            )
    if "scales" in options and not all(0.05 <= scale <= 20 for scale in options["scales"]):
        raise OptionError(f"scales lie between 0.05 and 20; got {options['scales']}")
    if not 0.05 <= options.get("crop", 1) <= 1:
        raise OptionError(f"crop is a share of the shorter side, from 0.05 to 1; got {options['crop']}")
    devices.precision_of(options.get("precision", ""), "cpu")
    if options.get("unmapped", UNMAPPED[0]) not in UNMAPPED:
        raise OptionError(f"--unmapped {options['unmapped']!r} is not known; use {', '.join(UNMAPPED)}")
    check_scorers(options.get("scorer", []))
    keep = parse(options.get("keep", []))
    if keep.embeddings and any(options.get(key) for key in ("window", "flip", "scales")):
        raise OptionError("--keep embedding needs whole images: leave out --window, --flip and --scales")


def open_network(
    opening: Opening,
    settings: Settings,
    *,
    load: Load,
    runtime: str,
    digest: Callable[[str, ModelOptions], str],
) -> OpenNetwork:
    """Open a network on this worker's device; ModelError if it has changed since the run began."""
    channels = [len(opening.labels), len(settings.class_list)]
    options: ModelOptions = {
        **opening.options,
        "device": opening.device,
        "task": settings.task,
        "channels": channels,
    }
    network = inference(opening.source, options, load=load, runtime=runtime, methods=opening.methods)
    now = digest(opening.source, opening.options)
    expected = opening.digest
    if expected.startswith(now) and expected not in (now, now + network.network.weights):
        raise ModelError(
            f"{opening.source}: its weights differ on every load; set a seed, or load them from a file"
            " (they may also have changed while this line ran)"
        )
    if not expected.startswith(now):
        opening.refuse_changes(now)
    doubt_methods.check_fitted(
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
    *,
    load: Load,
    runtime: str,
    methods: str = "",
) -> Inference:
    """Open a network with the way images are shown to it; ``methods`` is the folder of the methods fitted to
    it.
    """
    device = devices.pick(str(options.get("device", "")), runtime)
    fitted = doubt_methods.load_methods(methods, options.get("scorer", []), source, device)
    layers = [
        *parse(options.get("keep", [])).embeddings,
        *doubt_methods.layers_of(fitted),
        *cast("list[str]", options.get("layers", [])),
    ]
    network = load(source, {**options, "layers": layers}, device)
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
        if network.device.startswith("cuda"):
            options["score_on"] = network.score_on
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
                rgb, sha = read_photo_again(image)
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
        spent = inference.spent if good else Spent()

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
                    replace(
                        row_of_output(image, output, inference.network.name, places, words, look), photo=photo
                    )
                )
            inference.warm = inference.warm or bool(good)
            rest = time.perf_counter() - start - scoring
            return Batch(rows, (loading, spent.network, scoring, rest), warm, spent.fitted, spent.methods)

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


def row_of_output(
    image: Image, output: Output, name: str, places: np.ndarray, words: str, look: Look | None
) -> Row:
    """Return one output of the model NAME encoded; a label that ``places`` does not know is a failure, which
    says in ``words`` what is allowed.
    """
    if output.labels is None:
        return Row(image.id, None, problem=output.problem)
    if output.answer:
        code = output.answer
        said = output.labels.ravel()
    else:
        code, said = runs.encode_with_labels(output.labels)
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
