"""Which kind of model a SOURCE is, and opening it.

Conventions: a SOURCE is (of classifiers alone) a table, a folder of maps, ``model.onnx``, a folder of the transformers library, ``hf:OWNER/MODEL``, ``model.pt2`` (torch.export), TorchScript (``.pt``,
``.pth``, ``.ts``, ``.torchscript``), ``file.py:function``, or ``exec:COMMAND``. Everything but folders and programs is a network: it sees photos and gives logits or labels.
"""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

from faultscape import plug
from faultscape.errors import ModelError
from faultscape.prediction import bounds, devices
from faultscape.prediction.classifiers import Classifier
from faultscape.prediction.inference import Inference, Way
from faultscape.prediction.inputs import size_of
from faultscape.prediction.keep import Keep, parse
from faultscape.prediction.sources import programs, tables
from faultscape.prediction.sources.network import Network
from faultscape.prediction.sources.onnx_files import weights_beside
from faultscape.study.settings import CLASSIFICATION, Kind

SCRIPTS = (".pt", ".pth", ".ts", ".torchscript")
LISTS = (".txt", ".csv", ".lst")
NETWORKS = ("onnx", "transformers", "hub", "exported", "script", "function")
PIECE, REST = 1 << 22, 1 << 26  # bytes
OWN_CODE = {
    "function": "runs the code of {0}, which is yours to trust",
    "program": "runs the command {0}, which is yours to trust",
}


def kind_of(name: str, source: str, task: str = "segmentation") -> Kind:
    """Return folder, program, table, or the kind of network; ModelError for what is none of them, or not for this task."""
    if task == CLASSIFICATION and tables.split(source):
        if not Path((tables.split(source) or ("",))[0]).is_file():
            raise ModelError(f"{name}={source}: there is no such file")
        return "table"
    kind = _kind_of(name, source)
    if task == CLASSIFICATION and kind in ("folder", "program"):
        what = kind if kind == "program" or Path(source).is_dir() else "list of files"
        raise ModelError(
            f"{name}={source}: a classifier is a table of its answers ({', '.join(tables.ENDINGS)}) or a network; this is a {what}"
        )
    return kind


def _kind_of(name: str, source: str) -> Kind:
    if source.startswith("hf:"):
        return "hub"
    if source.startswith("exec:"):
        if not source[5:].strip():
            raise ModelError(f"{name}={source}: name the command, for example exec:./segment {{input}} {{output}}")
        if shutil.which(first := programs.words_of(source[5:], Path(), Path())[0]) is None:
            raise ModelError(f"{name}={source}: there is no program {first}, or it may not be run")
        return "program"
    file, colon, function = source.rpartition(":")
    if colon and file.endswith(".py"):
        if not Path(file).is_file():
            raise ModelError(f"{name}={source}: there is no file {file}")
        if not function.isidentifier():
            raise ModelError(f"{name}={source}: name a function of {file}, for example {file}:load")
        return "function"
    path, ending = Path(source), Path(source).suffix.lower()
    if not path.exists():
        raise ModelError(f"{name}={source}: there is no such folder or file")
    if path.is_dir():
        return "transformers" if (path / "config.json").is_file() and not (path / "labels").is_dir() else "folder"
    if ending == ".onnx":
        return "onnx"
    if ending == ".pt2":
        return "exported"
    if ending in SCRIPTS:
        return "script"
    if ending in LISTS:
        return "folder"
    if ending == ".py":
        raise ModelError(f"{name}={source}: name the function too, as {source}:function")
    if ending in (".safetensors", ".bin", ".ckpt", ".pkl"):
        raise ModelError(
            f"{name}={source}: holds weights and no network; write a function that builds the network and loads them, and name it as file.py:function"
        )
    raise ModelError(
        f"{name}={source}: a model is a folder of label maps or of transformers, a file ending in .onnx, .pt2 or {SCRIPTS[0]}, hf:OWNER/MODEL, "
        "file.py:function or exec:COMMAND"
    )


def absolute(kind: str, source: str) -> str:
    """Return a source as study.toml keeps it: paths made absolute, names of the hub and commands as they are."""
    if kind in ("hub", "program"):
        return source
    if kind == "table":
        path, picked = tables.split(source) or (source, ())
        return ":".join([os.path.abspath(path), *picked])
    if kind == "function":
        file, _, function = source.rpartition(":")
        return f"{os.path.abspath(file)}:{function}"
    return os.path.abspath(source)


def there(source: str) -> bool:
    """Whether what a source names is still to be had, as far as that can be seen from here."""
    table = tables.split(source)
    file = table[0] if table else source.rpartition(":")[0] if source.rpartition(":")[0].endswith(".py") else source
    return source.startswith(("hf:", "exec:")) or Path(file).exists()


def digest(kind: str, source: str, options: dict[str, Any]) -> str:
    """Return a digest of the network itself: its files, the commit of the hub, or a command with the files that it names."""
    if kind == "hub":
        return hashlib.sha256(f"{source}@{options.get('revision', '')}".encode()).hexdigest()
    if kind == "program":
        return _of_command(source)
    if kind == "function":
        return hashlib.sha256(f"{plug.digest(source)}:{source.rpartition(':')[2]}".encode()).hexdigest()
    if kind == "transformers":
        files = [(p, p.stat().st_size) for p in sorted(Path(source).rglob("*")) if p.is_file() and not p.name.startswith(".")]
    else:
        files = [(Path(source), Path(source).stat().st_size)]
        for file, end in (weights_beside(source) if kind == "onnx" else {}).items():
            size = file.stat().st_size  # what lies far behind the last number of a tensor is another network's, or nobody's
            files.append((file, end if end and size > end + REST else size))
    bounds.check_files(source, files)
    found = hashlib.sha256()
    for file, most in files:
        found.update(file.name.encode() + b"\0")
        left = most
        with file.open("rb") as stream:
            while piece := stream.read(min(left, PIECE)):
                found.update(piece)
                left -= len(piece)
    return found.hexdigest()


def _of_command(source: str) -> str:
    found = hashlib.sha256(source.encode())
    try:
        words = shlex.split(source.removeprefix("exec:"))
    except ValueError:  # the program's own error is said when it is to run
        words = []
    for word in words:
        if os.path.isfile(word):
            with open(word, "rb") as stream:
                found.update(hashlib.file_digest(stream, "sha256").digest())
    return found.hexdigest()


def open_network(kind: str, source: str, options: dict[str, Any], classes: tuple[int, ...] = ()) -> Network:
    """Open a network on this worker's device; ``classes`` are numbers of channels that it may well have."""
    device = devices.pick(str(options.get("device", "")), kind)
    options = {**options, "layers": list(parse(options.get("keep", [])).embeddings)}
    if kind == "onnx":
        from faultscape.prediction.sources.onnx import OnnxNetwork

        return OnnxNetwork(source, options, classes, device)
    if kind in ("transformers", "hub"):
        from faultscape.prediction.sources.huggingface import TransformersNetwork

        return TransformersNetwork(*_folder(kind, source, options), device, source)
    if kind == "function":
        from faultscape.prediction.sources.functions import of_function

        return of_function(source, options, device)
    from faultscape.prediction.sources import torch_network

    return (torch_network.exported if kind == "exported" else torch_network.scripted)(source, options, device)


def open_model(source: str, *, keep: tuple[str, ...] | list[str] = (), **options: Any) -> Inference:
    """Open any network for use without a study: ``open_model("net.onnx").predict([photo])[0].labels``.

    ``options`` are those of `predict`: input_size, mean, std, multiple, layout, batch, threads, device, precision, window, stride, flip, scales; ``keep`` as there.
    Errors: ModelError for what is no network, OptionError for words that are not known.
    """
    source = str(source)
    kind = kind_of("model", source)
    if kind not in NETWORKS:
        raise ModelError(f"{source}: is no network, but a {kind}; `predict` reads it into a study")
    if "input_size" in options:
        options["size"] = options.pop("input_size")
    options |= {"keep": list(keep)}
    return Inference(open_network(kind, source, options), way_of(options), parse(keep))


_held: dict[str, tuple[Any, Inference]] = {}  # the one model that this process has open


def held_model(kind: str, source: str, options: dict[str, Any], expected: str, classes: tuple[int, ...]) -> Inference:
    """Return an open network with the way it is shown photos; it stays open for the next shard.

    ``expected`` is the digest of its files, with or without that of its weights behind it. Errors: ModelError when it is another's.
    """
    key = (kind, source, json.dumps(options, sort_keys=True), expected, classes)
    if (before := _held.get("model")) and before[0] == key:
        return before[1]
    release()
    network = open_network(kind, source, options, classes)
    if options.get("task") == CLASSIFICATION:
        model = Classifier(network, way_of(options), keep_of(options, CLASSIFICATION), float(options.get("crop", 1)))
    else:
        model = Inference(network, way_of(options), keep_of(options))
    now = digest(kind, source, options)
    if expected.startswith(now) and expected not in (now, now + model.network.weights):
        raise ModelError(
            f"{source}: its weights are others each time it is loaded; set a seed in it, or let it read them (they may also have changed while this line ran)"
        )
    if not expected.startswith(now):
        raise ModelError(
            f"{source}: its files changed while this line ran; run the same line again, which does all of it with the new ones"
        )
    _held["model"] = (key, model)
    return model


def release() -> None:
    """Close the network that this process has open."""
    _held.clear()


def revision_of(source: str) -> str:
    """Return the commit that hf:OWNER/MODEL[@REVISION] stands for now; ModelError when it cannot be had."""
    from faultscape.prediction.sources.hub import fetch

    return fetch(source.removeprefix("hf:"))[1]


def way_of(options: dict[str, Any]) -> Way:
    """Return how photos are shown to a network, of a model's options."""
    size, window, stride = (size_of(options[key], key) if options.get(key) else None for key in ("size", "window", "stride"))
    scales = tuple(float(scale) for scale in options.get("scales") or [1.0])
    return Way(size if window or scales != (1.0,) else None, window, stride, bool(options.get("flip")), scales)


def keep_of(options: dict[str, Any], task: str = "segmentation") -> Keep:
    """Return what is kept of a model, of its options."""
    return replace(parse(options.get("keep", [])), answers=task == CLASSIFICATION)


def _folder(kind: str, source: str, options: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    if kind == "transformers":
        return source, options
    from faultscape.prediction.sources.hub import fetch

    name = source.removeprefix("hf:").partition("@")[0]
    revision = options.get("revision") or source.partition("@")[2]
    return fetch(f"{name}@{revision}" if revision else name)[0], options
