"""Fitted methods run beside a network: they are loaded for the scorers that name them, receive the network's
answers to a block of images, and score pixels. Methods on a backbone receive its features of the image.

Conventions: a scorer that is a fitted method is ``NAME@DIGEST`` (metrics.scorers): the file NAME.safetensors
in the model's folder of methods, with a digest that begins with DIGEST. A method that joins others
names its parts in the same way. A block is (N, 3, H, W), as passed to the network.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from faultscape.errors import MetricError, ModelError, OptionError
from faultscape.metrics.scorers import fitted_words, split_fitted
from faultscape.prediction.device_scores import DeviceScores, tensor_of
from faultscape.prediction.sources.backbone import Backbone
from faultscape.prediction.sources.network import OUTLIER, Answer, Network, padded_to
from faultscape.prediction.sources.torch_network import TorchNetwork, running, watched
from faultscape.uncertainty.method_files import (
    ENDING,
    MethodAbout,
    line_again,
    not_a_method,
    read_about,
    words_of,
)
from faultscape.uncertainty.method_files import digest as digest_of
from faultscape.uncertainty.methods.catalogue import IMAGE, OUTLIER_LOGIT, method_named, own_layers

if TYPE_CHECKING:
    from torch import Tensor

    from faultscape.uncertainty.methods.method import Fitted, Joins, MovesInput, ShowsAgain

# options that determine the features
_SHOWN = ("size", "window", "scales", "mean", "std", "layout", "multiple")


@dataclass(eq=False)
class OnBackbone:
    """A fitted method whose features are the patches of a backbone, which sees the whole image, whatever
    windows or views the model sees.
    """

    method: Fitted
    backbone: Backbone
    layers: tuple[str, ...] = ()  # of the model
    epsilon: float = 0.0

    def values(self, features: Sequence[Tensor], logits: Tensor) -> tuple[Tensor, ...]:
        """Return the method's values for the grid of the backbone, and the logits of the model."""
        return self.method.values(features, logits)

    def score(self, values: Sequence[np.ndarray], size: tuple[int, int]) -> np.ndarray:
        """Return the method's score."""
        return self.method.score(values, size)

    def tensors(self) -> dict[str, Tensor]:
        """Return the method's tensors; the backbone stays in its folder."""
        return self.method.tensors()


def load_methods(folder: str, words: Sequence[str], name: str, device: str = "cpu") -> dict[str, Fitted]:
    """Return the methods {word: method} of a model that the scorers' words name, with their backbones on a
    device. ModelError if a method or its backbone is missing or has changed.
    """
    asked = fitted_words(words)
    shelf: dict[str, Fitted] = {}
    backbones = dict[str, Backbone]()
    for word, (called, digest) in asked.items():
        path = Path(folder, f"{called}{ENDING}")
        if not path.is_file() or digest_of(path) != digest:
            raise ModelError(
                f"{name}: its method {called} was refitted or removed; run `faultscape predict` again with"
                f" --scorer {called}"
            )
        if word not in shelf:
            shelf[word] = built(path, shelf)
        about = read_about(path)
        if not about.backbone:
            continue
        (source,) = about.layers
        if source not in backbones:
            backbones[source] = Backbone(source, device)
        if backbones[source].digest != about.backbone:
            raise ModelError(
                f"{name}: its method {called} was fitted with other files of its backbone {source}; run"
                " `faultscape fit` for it again"
            )
        shelf[word] = OnBackbone(shelf[word], backbones[source])
    return {word: shelf[word] for word in asked}


def built(path: Path, shelf: MutableMapping[str, Fitted] | None = None) -> Fitted:
    """Return the method in a file; ModelError if its options or tensors do not fit such a method, or if a
    part of it has changed. Parts {word: method} are taken from a ``shelf``, and put there.
    """
    from faultscape.uncertainty.methods.method import read

    about, tensors = read(path)
    try:
        method = method_named(about.method)
        method.check(about.options)
        options = {**method.options, **about.options}
        if not method.has_parts:
            return method.build(about.layers, options, tensors)
        parts = _parts(path, about, {} if shelf is None else shelf)
        return method.build(about.layers, options, tensors, parts)
    except (OptionError, MetricError, KeyError, IndexError, TypeError, ValueError, RuntimeError) as error:
        raise not_a_method(path, error) from None


def _parts(path: Path, about: MethodAbout, shelf: MutableMapping[str, Fitted]) -> dict[str, Fitted]:
    """Return the fitted parts {word: method} of a method in a file."""
    made: dict[str, Fitted] = {}
    for word, (called, digest) in fitted_words(words_of(str(about.options["parts"]))).items():
        file = path.with_name(f"{called}{ENDING}")
        if not file.is_file() or digest_of(file) != digest:
            raise ModelError(
                f"{path.parent.name}: {called}, a part of its method {path.stem}, was fitted again or"
                f" removed; fit {path.stem} again: `{line_again(path, about)}`"
            )
        if word not in shelf:
            shelf[word] = built(file, shelf)
        made[word] = shelf[word]
    return made


def shown_as(options: Mapping[str, object]) -> str:
    """Return, from a model's options, how images are shown to its network, as far as this affects its
    features.

    >>> shown_as({"window": "512x512", "scorer": ["knn"]})
    'window 512x512'
    """
    return ", ".join(f"{key.replace('_', '-')} {options[key]}" for key in _SHOWN if options.get(key))


def check_fitted(
    folder: str, words: Sequence[str], network: str, options: Mapping[str, object], name: str
) -> None:
    """Raise ModelError if a method among the scorers was fitted to a network with a different digest, or to
    images that were shown differently.
    """
    asked = [parts[0] for word in words if (parts := split_fitted(word)) is not None]
    if not asked:
        return
    for called in asked:
        about = read_about(Path(folder, f"{called}{ENDING}"))
        if about.shown != shown_as(options):
            raise ModelError(
                f"{name}: its method {called} was fitted with {about.shown or 'no options'}, but the model"
                f" now uses {shown_as(options) or 'none'}; predict without {called} first, then fit it"
                " again"
            )
        if about.network != network:
            raise ModelError(
                f"{name}: its method {called} was fitted to a different network or different weights; run"
                " `faultscape fit` for it again"
            )


def share_searches(methods: Mapping[str, Fitted]) -> None:
    """Let methods that search neighbours among the same training features share one search per grid."""
    if methods:
        from faultscape.uncertainty.methods.knn_density import share_neighbours

        share_neighbours(_each(methods))


def _each(methods: Mapping[str, Fitted]) -> list[Fitted]:
    """Return methods and their parts, each once."""
    found = {id(one): one for method in methods.values() for one in (*_parts_of(method).values(), method)}
    return [one.method if isinstance(one, OnBackbone) else one for one in found.values()]


def _parts_of(method: Fitted) -> Mapping[str, Fitted]:
    """Return the parts {word: method} whose values a method joins, most often none."""
    return getattr(method, "parts", {})


def layers_of(methods: Mapping[str, Fitted]) -> tuple[str, ...]:
    """Return the names of all layers that the methods tap; the image itself is none."""
    return own_layers(layer for method in methods.values() for layer in method.layers)


def show_again(methods: Mapping[str, Fitted], network: Network) -> None:
    """Let methods that show the network other images show them to this one."""
    for method in _each(methods):
        if hasattr(method, "again"):
            shows = cast("ShowsAgain", method)
            shows.show = partial(_grids_again, network, shows.again)


def _grids_again(network: Network, layers: Sequence[str], images: Tensor) -> list[Tensor]:
    """Return the grids (N, D, h, w) of layers for images (N, 3, H, W), shown at the nearest larger size that
    the network takes.
    """
    import torch

    from faultscape.uncertainty.methods.block_fit import at_size
    from faultscape.uncertainty.methods.embeddings import as_grid

    of = network.inputs.multiple
    sides = network.fixed[::-1] if network.fixed else [-(-side // of) * of for side in images.shape[2:]]
    answers = [network.run(image[None].cpu().numpy(), layers)[0] for image in at_size(images, sides)]
    return [
        as_grid(
            torch.stack([tensor_of(answer.embeddings[layer], str(images.device)) for answer in answers]),
            (sides[0], sides[1]),
            f"{network.name}: layer {layer}",
        )
        for layer in layers
    ]


def by_backbone(methods: Mapping[str, Fitted]) -> dict[Backbone, dict[str, Fitted]]:
    """Return the methods of each backbone, {backbone: {word: method}}."""
    found: dict[Backbone, dict[str, Fitted]] = {}
    for word, method in methods.items():
        if isinstance(method, OnBackbone):
            found.setdefault(method.backbone, {})[word] = method.method
    return found


def with_backbone(
    network: Network,
    backbone: Backbone,
    methods: Mapping[str, Fitted],
    view: np.ndarray,
    answer: Answer,
    spent: MutableMapping[str, float],
) -> Answer:
    """Return the answer to a whole image with the values of the methods of a backbone, which sees the image
    as ``view`` and runs once for all of them. The seconds that each method takes alone, with the backbone,
    are added to ``spent``.
    """
    import torch

    from faultscape.uncertainty.methods.knn_density import forget_neighbours

    device = network.device if network.device.startswith("cuda") else "cpu"
    start = time.perf_counter()
    grid = backbone.grid(view)
    of_backbone = time.perf_counter() - start
    with running(network.name, device, "float32"):
        features = torch.from_numpy(grid)[None].to(device)
        logits = _logits(answer, network.name, device)[None]
        try:
            made = dict[str, tuple[np.ndarray, ...]]()
            for word, method in methods.items():
                start = time.perf_counter()
                made[word] = tuple(_kept(value, network) for value in method.values([features], logits))
                spent[word] = spent.get(word, 0.0) + of_backbone + time.perf_counter() - start
        finally:
            forget_neighbours(methods.values())
    return replace(answer, values={**answer.values, **made})


def with_values(
    network: Network,
    methods: Mapping[str, Fitted],
    block: np.ndarray,
    answers: Sequence[Answer],
    kept: Sequence[str],
    spent: MutableMapping[str, float],
) -> list[Answer]:
    """Return answers to a block with the values of each method, and with only the embeddings of the layers to
    be ``kept``. The seconds that each method takes alone are added to ``spent``. ModelError if a network
    cannot do what a method asks.
    """
    made: list[dict[str, tuple[np.ndarray, ...]]] = [{} for _ in answers]
    still = {word: method for word, method in methods.items() if method.epsilon <= 0}
    for number, arrays in enumerate(_values(network, still, block, answers, spent)):
        made[number].update(arrays)
    for word, method in methods.items():
        if word in still:
            continue
        if not isinstance(network, TorchNetwork) or network.marginal:
            raise ModelError(
                f"{network.name}: input preprocessing needs gradients of logits, which only torch networks"
                " provide; fit the method with --epsilon 0"
            )
        start = time.perf_counter()
        moves = cast("MovesInput", method)
        parts = [block[k : k + 1] for k in range(len(block))]  # one at a time: a gradient takes memory
        if network.fixed_batch:
            parts = [padded_to(block, network.fixed_batch)]
        there = np.concatenate([moved(network, part, moves) for part in parts])[: len(block)]
        for number, arrays in enumerate(
            _values(network, {word: method}, block, network.run(there, method.layers), {})
        ):
            made[number].update(arrays)
        spent[word] = spent.get(word, 0.0) + time.perf_counter() - start
    return [
        replace(
            answer,
            embeddings={layer: answer.embeddings[layer] for layer in kept},
            values={**answer.values, **values},
        )
        for answer, values in zip(answers, made, strict=True)
    ]


def _values(
    network: Network,
    methods: Mapping[str, Fitted],
    block: np.ndarray,
    answers: Sequence[Answer],
    spent: MutableMapping[str, float],
) -> list[dict[str, tuple[np.ndarray, ...]]]:
    """Return the methods' values for each answer, processing one image's features at a time; add the seconds
    of each method alone to ``spent``.
    """
    import torch

    from faultscape.uncertainty.methods.embeddings import as_grid
    from faultscape.uncertainty.methods.knn_density import forget_neighbours

    device = network.device if network.device.startswith("cuda") else "cpu"
    shows_image = any(IMAGE in method.layers for method in _each(methods))
    out = []
    with running(network.name, device, "float32"):
        for answer, image in zip(answers, block, strict=False) if methods else ():
            grids = {
                layer: as_grid(
                    tensor_of(answer.embeddings[layer], device)[None],
                    block.shape[2:],
                    f"{network.name}: layer {layer}",
                )
                for layer in layers_of(methods)
            }
            if shows_image:
                grids[IMAGE] = torch.from_numpy(image)[None].to(device)
            if OUTLIER in answer.values:
                grids[OUTLIER_LOGIT] = torch.from_numpy(answer.values[OUTLIER][0])[None].to(device)
            logits = _logits(answer, network.name, device)[None]
            made = {}
            done: dict[int, tuple[tuple[Tensor, ...], float]] = {}
            try:
                for word, method in methods.items():
                    values, seconds = _values_once(method, grids, logits, done)
                    made[word] = tuple(_kept(value, network) for value in values)
                    spent[word] = spent.get(word, 0.0) + seconds
            finally:
                forget_neighbours(_each(methods))  # also after running out of memory
            out.append(made)
    return out


def _values_once(
    method: Fitted,
    grids: Mapping[str, Tensor],
    logits: Tensor,
    done: dict[int, tuple[tuple[Tensor, ...], float]],
) -> tuple[tuple[Tensor, ...], float]:
    """Return the values of a method from the grids of all layers, computed once for each method and part, and
    the seconds that it takes with its parts; ``done`` holds both by identity.
    """
    if id(method) not in done:
        of_parts = {word: _values_once(part, grids, logits, done) for word, part in _parts_of(method).items()}
        start = time.perf_counter()
        if of_parts:
            parts = {word: values for word, (values, _) in of_parts.items()}
            values = cast("Joins", method).joined(parts, grids, logits)
        else:
            values = method.values([grids[layer] for layer in method.layers], logits)
        if logits.is_cuda:
            import torch

            torch.cuda.synchronize(logits.device)  # or the next to ask for a number waits for it
        seconds = time.perf_counter() - start + sum(taken for _, taken in of_parts.values())
        done[id(method)] = values, seconds
    return done[id(method)]


def _kept(value: Tensor, network: Network) -> Any:
    """Return one image's value of a method as an array; logits stay where those of the network are scored."""
    own = value[0].float()
    return DeviceScores(own) if network.score_on == "device" and len(own) > 1 else own.cpu().numpy()


def logits_of(answer: Answer, name: str) -> np.ndarray:
    """Return the logits (C, h, w) of an answer, or, if it has only members, the logarithm of their mean
    probability. ModelError if it has neither.
    """
    return _logits(answer, name, "cpu").numpy()


def _logits(answer: Answer, name: str, device: str) -> Tensor:
    """Return what `logits_of` returns, on a device."""
    if answer.scores is not None:
        return tensor_of(answer.scores, device)
    if not answer.members:
        raise ModelError(f"{name}: returns labels without logits, so no method can be fitted to it")
    import torch

    from faultscape.uncertainty.heads.channels import mean_of_members

    return mean_of_members(torch.stack([tensor_of(scores, device) for scores in answer.members])[None])[0]


def moved(network: TorchNetwork, block: np.ndarray, method: MovesInput) -> np.ndarray:
    """Return a block, each value of which is moved by the method's epsilon against the gradient of its
    objective. Afterwards the weights of the module require no gradient. ModelError if the network passes no
    gradient, MemoryError if memory is short.

    The images of a block are independent, so they may be moved one at a time.
    Source: Liang et al. 2018 (ODIN); Blum et al. 2021, section 4.2 and Table 9.
    """
    import torch

    from faultscape.uncertainty.methods.embeddings import as_grid
    from faultscape.uncertainty.replace import output_tensor

    module = network.module
    for weight in module.parameters() if hasattr(module, "parameters") else ():
        # otherwise every layer keeps its input for an unused gradient
        weight.requires_grad_(requires_grad=False)
    with (
        running(network.name, network.device, "float32", gradients=True),
        watched(module, network.name, method.layers) as seen,
    ):
        image = torch.from_numpy(block).to(network.device).requires_grad_()
        logits = output_tensor(network.call(image))
        features = [
            as_grid(_tensor(seen[layer]), block.shape[2:], f"{network.name}: layer {layer}")
            for layer in method.layers
        ]
        (gradient,) = torch.autograd.grad(method.objective(features, logits), image)
        return (image.detach() - method.epsilon * gradient.sign()).cpu().numpy()


def _tensor(value: Any) -> Any:
    return value[0] if isinstance(value, tuple | list) else value
