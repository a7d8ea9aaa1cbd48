"""Open a network of the study with the preprocessing of `predict`: one that was predicted before, or one that
was only trained so far.

Conventions: options that only control what is kept or scored are left out; the digest is the network's own,
including its weights.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import cast

from faultscape.errors import ModelError, article, closest
from faultscape.prediction import catalogue
from faultscape.prediction.doubt_methods import shown_as
from faultscape.prediction.inference import Inference
from faultscape.prediction.networks import OpenNetwork, largest
from faultscape.prediction.source import Opening, Request, Trial
from faultscape.reading.study import LABELS, Study
from faultscape.study.folder import check_name, refuse_twin
from faultscape.study.settings import ModelOptions
from faultscape.study.tables.removed_images import each_whole_shard
from faultscape.uncertainty import description as descriptions

_LEFT_OUT = ("keep", "scorer", "offsets", "temperature")


@dataclass(frozen=True, eq=False)
class OpenedModel:
    """An open network with its source for `predict`, the meaning of its channels, and its digest."""

    inference: Inference
    source: str
    labels: dict[str, str]
    digest: str
    threads: int
    shown: str = ""


def open_model(
    study: Study,
    name: str,
    device: str,
    layers: tuple[str, ...] = (),
    given: str | None = None,
) -> OpenedModel:
    """Open a model of the study, a network that was trained under this name, or one from a ``given`` source;
    ``layers`` are those to tap in an ONNX file. ModelError if there is none, or it is not a network.
    """
    root = study.root
    settings = study.settings
    held = settings.models.get(name)
    source = known_source(study, name, given)
    kind = catalogue.source_of(name, source) if held is None else catalogue.kind_named(held.kind)
    if kind.load is None:
        instead = "; fit them to its members" if kind.name == "ensemble" else ""
        raise ModelError(f"{name} is {article(kind.called)}; methods are fitted to networks{instead}")
    options = cast(
        "ModelOptions",
        {key: value for key, value in (held.options if held else {}).items() if key not in _LEFT_OUT},
    )
    if kind.runtime == "onnx" and layers:
        # they are outputs of the file only if requested when it is opened
        options = cast("ModelOptions", {**options, "layers": list(layers)})
    request = Request(
        name,
        source,
        settings,
        partial(each_whole_shard, study.corpus),
        options,
        None,
        held.labels if held else {},
        device,
    )
    origin = kind.origin(kind, request)
    opened = origin.opened or kind.open(
        Opening(kind.name, origin.source or source, options, origin.labels, device, origin.digest), settings
    )
    assert isinstance(opened, OpenNetwork)
    if given and held is None:  # `predict` has not tried it yet
        images = [image for _, shard in request.shards() for image in shard]
        opened.try_on(Trial(images[0], len(images), largest(request), root))
        print("".join(f"{note}\n" for note in origin.notes), end="")
    return OpenedModel(
        opened.inference, source, origin.labels, origin.digest, opened.threads, shown_as(options)
    )


def known_source(study: Study, name: str, given: str | None = None) -> str:
    """Return the source of a model of the study, predicted or trained, or the ``given`` one, as `predict`
    keeps it; ModelError if there is none, or if the study has another model of this name.
    """
    held = study.settings.models.get(name)
    if not given:
        return held.source if held else _trained(study, name)
    refuse_twin(check_name(name), study.settings.models)
    if name in {LABELS, *study.truths}:
        raise ModelError(f"--model {name}: is the name of a truth (a set of labels); give the model another")
    source = catalogue.source_of(name, given).kept_as(given)
    if held is not None and held.source != source:
        raise ModelError(
            f"--model {name}={given}: the study has a model {name} already, {held.source}; give --model"
            f" {name} to fit to that, or another name"
        )
    folder = study.root / "models" / name
    if held is None and (folder / descriptions.NETWORK).is_file() and not _is_inside(source, folder):
        raise ModelError(
            f"--model {name}={given}: the study has a trained network {name} already; give --model {name} to"
            " fit to that, or another name"
        )
    return source


def _is_inside(source: str, folder: Path) -> bool:
    """Whether a source is a folder, or a function of a file in it."""
    file = source.rpartition(":")[0] or source
    return any(Path(place).resolve().is_relative_to(folder.resolve()) for place in (source, file))


def _trained(study: Study, name: str) -> str:
    """Return the folder of a trained network; ModelError if there is none, or it needs code that the user
    must name.
    """
    folder = study.root / "models" / name
    if not (folder / descriptions.NETWORK).is_file():
        trained = [path.parent.name for path in folder.parent.glob(f"*/{descriptions.NETWORK}")]
        known = sorted({*study.settings.models, *trained})
        raise ModelError(
            f"the study has no model {name!r}; it has {', '.join(known) or 'none'}.{closest(name, known)}"
        )
    if function := descriptions.read_description(folder).own_function:
        place = f"{folder / descriptions.OWN_FILE}:{function}"
        raise ModelError(
            f"{name} is trained, but not predicted yet, and runs code; if you trust it, give its source:"
            f" --model {shlex.quote(f'{name}={place}')}"
        )
    return str(folder)
