"""SOURCES: every kind of model, in the order in which a SOURCE is matched; and opening one.

Conventions: nothing registers itself. A SOURCE that names its kind (``hf:``, ``exec:``, ``submission:``,
``file.py:SOURCE:PLACE``) is recognised before one that is known by its file ending, because a command or a
PLACE may have such an ending too. Everything about the available kinds (help, errors, the options of each,
how its answers are made) is read from this tuple. A user-defined kind is a ``Source`` in your own file, named
``file.py:SOURCE:PLACE``; its entry here is `own`.

``source`` is what follows ``NAME=`` on the command line.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal, cast

from faultscape.corpus.packed_sources import is_packed, is_there, kept_as
from faultscape.corpus.parquet_rows import is_parquet
from faultscape.errors import ModelError, StudyError, article, closest_place
from faultscape.prediction import in_memory, networks
from faultscape.prediction.inference import Inference
from faultscape.prediction.network_files import onnx_files
from faultscape.prediction.source import Opening, OpenModel, Source
from faultscape.prediction.sources import (
    ensembles,
    folder,
    functions,
    huggingface,
    network_folder,
    onnx,
    own,
    programs,
    submissions,
    table_answers,
    tables,
    torch_network,
)
from faultscape.prediction.stamps import digest_of_place
from faultscape.prediction.stored_outputs import coco_results, score_folder, yolo_labels
from faultscape.study.settings import CLASSIFICATION, ModelOptions, Settings

_SCRIPTS = (".pt", ".pth", ".ts", ".torchscript")
_LISTS = (".txt", ".csv", ".lst")
_COMMAND = (
    "runs the command {0}; make sure you trust it, and that it gives the same answer for the same image:"
    " this is not tested, as a run may take minutes"
)
_WEIGHTS = (".safetensors", ".bin", ".ckpt", ".pkl")


def _ends(*endings: str) -> Any:
    return lambda source, _task: Path(source).suffix.lower() in endings


def _is_transformers(source: str, _task: str) -> bool:
    return Path(source, "config.json").is_file() and not Path(source, "labels").is_dir()


def _is_folder(source: str, task: str) -> bool:
    is_of_maps = is_packed(source) or (task != CLASSIFICATION and is_parquet(source))
    return Path(source).is_dir() or Path(source).suffix.lower() in _LISTS or is_of_maps


def _nothing(_name: str, _source: str) -> None:
    """Check nothing: a missing model is reported when it is fetched."""


def _always(_source: str) -> bool:
    return True


def _named(name: str) -> Source:
    """Return a kind of model by its name, for ensembles of several kinds."""
    return kind_named(name)


def _must_be_there(name: str, source: str) -> None:
    if not is_there(source):
        raise ModelError(f"{name}={source}: there is no such folder or file{closest_place(source)}")


def _network(
    name: str,
    written: str,
    load: networks.Load,
    of: Callable[[str, str], bool],
    digest: Callable[[str, ModelOptions], str] = digest_of_place,
    runtime: Literal["onnx", "torch"] = "torch",
    **more: Any,
) -> Source:
    """Return the entry of a kind of network; all networks are opened and shown images in the same way."""
    more = {"check": _must_be_there, "kept_as": os.path.abspath, **more}
    return Source(
        name,
        "network",
        written,
        partial(networks.open_network, load=load, runtime=runtime, digest=digest),
        of,
        digest=digest,
        origin=networks.origin,
        options=networks.OPTIONS,
        load=load,
        runtime=runtime,
        **more,
    )


SOURCES: tuple[Source, ...] = (
    _network(
        "hub",
        "hf:OWNER/MODEL",
        huggingface.open_hub,
        huggingface.is_of_hub,
        check=_nothing,
        kept_as=str,
        there=_always,
        digest=huggingface.digest,
        revision=huggingface.revision_of,
    ),
    Source(
        "ensemble",
        "ensemble",
        "ensemble:MODEL,MODEL,...",
        partial(ensembles.open_ensemble, kind_named=_named),
        ensembles.recognised,
        check=ensembles.check,
        there=_always,
        digest=ensembles.digest,
        origin=partial(ensembles.origin, kind_named=_named),
        options=ensembles.OPTIONS,
        tasks=("segmentation",),
    ),
    Source(
        "program",
        "program",
        "exec:COMMAND",
        programs.OpenProgram,
        programs.recognised,
        check=programs.check,
        there=_always,
        digest=programs.digest,
        tasks=("segmentation",),
        own_sizes=True,
        own_code=_COMMAND,
    ),
    Source(
        "submission",
        "submission",
        "submission:COMMAND",
        submissions.OpenSubmission,
        submissions.recognised,
        check=submissions.check,
        kept_as=submissions.kept_as,
        there=_always,
        digest=submissions.digest,
        origin=submissions.origin,
        options=submissions.OPTIONS,
        tasks=("segmentation",),
        own_code=_COMMAND,
        whole=True,
    ),
    Source(
        "own",
        "model of a kind of your own",
        "file.py:SOURCE:PLACE",
        own.OwnModel,
        own.recognised,
        check=own.check,
        kept_as=own.kept_as,
        there=own.there,
        digest=own.digest,
        own_sizes=True,
        own_code="runs the code of {0}; make sure you trust it",
    ),
    Source(
        "table",
        "table",
        "a table of answers (.csv, .parquet, .npz)",
        table_answers.AnswerTable,
        table_answers.recognised,
        check=table_answers.check,
        kept_as=table_answers.kept_as,
        there=table_answers.there,
        digest=table_answers.digest,
        origin=table_answers.origin,
        options=(),
        tasks=(CLASSIFICATION,),
        here=True,
    ),
    _network(
        "trained",
        "a network of `train` (a folder)",
        network_folder.open_trained,
        network_folder.recognised,
        check=network_folder.check,
        kept_as=network_folder.kept_as,
        there=network_folder.there,
        digest=network_folder.digest,
    ),
    _network(
        "function",
        "file.py:function",
        functions.of_function,
        functions.recognised,
        check=functions.check,
        kept_as=functions.kept_as,
        there=functions.there,
        digest=functions.digest,
        own_code="runs the code of {0}; make sure you trust it",
    ),
    _network(
        "transformers",
        "a folder of the transformers library",
        huggingface.TransformersNetwork,
        _is_transformers,
    ),
    Source(
        "coco",
        "file of masks",
        "results of COCO (.json)",
        coco_results.OpenResults,
        coco_results.recognised,
        check=_must_be_there,
        kept_as=os.path.abspath,
        origin=coco_results.origin,
        options=coco_results.OPTIONS,
        tasks=("segmentation",),
    ),
    Source(
        "yolo",
        "folder of outlines",
        "a folder of results of ultralytics (labels/*.txt)",
        yolo_labels.OpenOutlines,
        yolo_labels.recognised,
        check=_must_be_there,
        kept_as=os.path.abspath,
        origin=yolo_labels.origin,
        options=yolo_labels.OPTIONS,
        tasks=("segmentation",),
    ),
    Source(
        "scores",
        "folder of scores",
        f"a folder of logits or probabilities ({', '.join(score_folder.WRITTEN)})",
        score_folder.OpenScores,
        score_folder.recognised,
        check=_must_be_there,
        kept_as=os.path.abspath,
        origin=score_folder.origin,
        options=score_folder.OPTIONS,
        tasks=("segmentation",),
    ),
    Source(
        "folder",
        "folder",
        "a folder of label maps",
        folder.OpenFolder,
        _is_folder,
        check=_must_be_there,
        kept_as=kept_as,
        there=is_there,
        origin=folder.origin,
        options=folder.OPTIONS,
        tasks=("segmentation",),
        own_sizes=True,
    ),
    _network("onnx", "model.onnx", onnx.OnnxNetwork, _ends(".onnx"), onnx_files.digest, "onnx"),
    _network("exported", "model.pt2 (torch.export)", torch_network.exported, _ends(".pt2")),
    _network("script", f"TorchScript ({', '.join(_SCRIPTS)})", torch_network.scripted, _ends(*_SCRIPTS)),
)


# only Python can give them, so that no list of kinds has them; study.toml names them
IN_MEMORY: tuple[Source, ...] = (
    Source(
        "memory",
        "model in memory",
        "arrays or tensors (in Python)",
        in_memory.MapsInMemory,
        in_memory.are_maps,
        check=in_memory.check,
        kept_as=str,
        there=in_memory.there,
        digest=in_memory.digest_of_maps,
        origin=in_memory.origin_of_maps,
        options=("resize_maps",),
        own_sizes=True,
        here=True,
    ),
    Source(
        "memory_answers",
        "model in memory",
        "answers in an array (in Python)",
        in_memory.open_answers,
        in_memory.are_answers,
        check=in_memory.check,
        kept_as=str,
        there=in_memory.there,
        digest=in_memory.digest_of_answers,
        origin=in_memory.origin_of_answers,
        options=(),
        tasks=(CLASSIFICATION,),
        here=True,
    ),
    _network(
        "memory_network",
        "a function or a torch module (in Python)",
        in_memory.of_function,
        in_memory.is_function,
        in_memory.digest_of_function,
        check=in_memory.check,
        kept_as=str,
        there=in_memory.there,
        here=True,
    ),
)


def _kinds() -> tuple[Source, ...]:
    return (*IN_MEMORY, *SOURCES)


def source_of(name: str, source: str, task: str = "segmentation") -> Source:
    """Return the kind of model of a SOURCE; ModelError if it is not a model, does not fit this task, or is
    not available.

    >>> source_of("m", "exec:cat").name
    'program'
    """
    found = next((kind for kind in _kinds() if kind.of(source, task)), None)
    if found is None:
        raise ModelError(f"{name}={source}: {_why_none(source, task)}")
    found.check(name, source)
    if task not in found.tasks:
        what = found.called if found.called != "folder" or Path(source).is_dir() else "list of files"
        raise ModelError(
            f"{name}={source}: expected a table of answers ({', '.join(tables.ENDINGS)}) or a network for a"
            f" classifier; got a {what}"
        )
    return found


def makes_maps_of(source: str) -> bool:
    """Whether files hold scores or masks, of which `predict` makes label maps without running a network.

    >>> makes_maps_of("results.json"), makes_maps_of("maps")
    (True, False)
    """
    stored = (kind for kind in SOURCES if kind.name in ("coco", "yolo", "scores"))
    return any(kind.of(source, "segmentation") for kind in stored)


def kind_named(name: str) -> Source:
    """Return the kind of model with this name in study.toml; StudyError lists the known ones."""
    found = next((kind for kind in _kinds() if kind.name == name), None)
    if found is None:
        raise StudyError(
            f"models of kind {name!r} are not known; known are {', '.join(kind.name for kind in SOURCES)}"
        )
    return found


def there(source: str) -> bool:
    """Whether the source is still available, as far as this machine can tell."""
    kind = next((kind for kind in _kinds() if kind.of(source, CLASSIFICATION)), None)
    return kind.there(source) if kind else Path(source).exists()


def open_model(source: str, *, keep: Sequence[str] = (), **options: Any) -> Inference:
    """Open any network for use without a study: ``open_model("net.onnx").predict([image])[0].labels``.

    ``options`` are those of `predict`: input_size, mean, std, multiple, layout, batch, threads, device,
    precision, window, stride, flip, scales; ``keep`` as there. Errors: ModelError if the source is not a
    network, OptionError for unknown options.
    """
    source = str(source)
    kind = source_of("model", source)
    if kind.load is None:
        raise ModelError(
            f"{source}: not a network but {article(kind.called)}; use `predict` to read it into a study"
        )
    if "input_size" in options:
        options["size"] = options.pop("input_size")
    told = cast("ModelOptions", options | {"keep": list(keep)})
    return networks.inference(source, told, load=kind.load, runtime=kind.runtime)


_held: dict[str, tuple[Opening, Settings, OpenModel]] = {}  # open in this process: one model, and the tables


def opened(opening: Opening, settings: Settings) -> OpenModel:
    """Return an open model, which stays open for the next shard; ModelError if it has changed since the run
    began.
    """
    place = _place(opening)
    if (before := _held.get(place)) and before[:2] == (opening, _without_models(settings)):
        return before[2]
    _held.pop(place, None)
    model = kind_named(opening.kind).open(opening, settings)
    hold(opening, settings, model)
    return model


def hold(opening: Opening, settings: Settings, model: OpenModel) -> None:
    """Keep open a model that was opened for another purpose."""
    _held[_place(opening)] = (opening, _without_models(settings), model)


def release() -> None:
    """Close the model that this process has open; tables stay."""
    _held.pop("", None)


def release_tables() -> None:
    """Close the tables that this process has open."""
    for place in [place for place in _held if place]:
        del _held[place]


def _place(opening: Opening) -> str:
    return opening.source if kind_named(opening.kind).here else ""


def _without_models(settings: Settings) -> Settings:
    return settings.model_copy(update={"models": {}})


def _why_none(source: str, task: str) -> str:
    """Return why a SOURCE is not a model, and what a model looks like."""
    if not Path(source).exists():
        return f"there is no such folder or file{closest_place(source)}"
    ending = Path(source).suffix.lower()
    if ending == ".py":
        return f"name the function as well: {source}:function"
    if ending in _WEIGHTS:
        return (
            "contains only weights, not a network; write a function that builds the network and loads them,"
            " and pass it as file.py:function"
        )
    if ending in (".npy", ".npz"):
        return (
            "one file of arrays is not a model; save a file for each image in a folder, or give the arrays in"
            " Python: fs.predict(STUDY, {NAME: array})"
        )
    written = [kind.written for kind in SOURCES if task in kind.tasks]
    return f"a model is {', '.join(written[:-1])} or {written[-1]}"
