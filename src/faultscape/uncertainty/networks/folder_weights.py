"""How the weights in a folder of the transformers library fit the network that its config.json describes.

Conventions: the library fills what its files lack with random numbers, and says so only in its log. So every
folder is loaded here, and the caller decides which tensors may be new.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from faultscape.errors import ModelError, counted, library_text
from faultscape.process.library_warnings import without_warnings

_NAMED = 3  # tensors named in a message


@dataclass(frozen=True)
class Fit:
    """The names of tensors that the files lack, and of those that the network does not have."""

    missing: tuple[str, ...]
    unused: tuple[str, ...]


def load(auto: Any, folder: str, name: str, **told: Any) -> tuple[Any, Fit]:
    """Return the network of a folder by a class of the library, and how the weights fit it; ModelError if the
    folder is damaged, or if a tensor has another shape than the network needs.
    """
    try:
        with without_warnings():
            network, info = auto.from_pretrained(
                folder,
                local_files_only=True,
                trust_remote_code=False,
                ignore_mismatched_sizes=True,  # reported below, with their names
                output_loading_info=True,
                **told,
            )
    except Exception as error:  # noqa: BLE001 - a damaged folder fails anywhere in the library
        raise ModelError(f"{name}: transformers cannot load it: {library_text(error)}") from None
    if wrong := sorted(info["mismatched_keys"]):
        key = wrong[0][0]
        held = tuple(wrong[0][1])
        needed = tuple(wrong[0][2])
        raise ModelError(
            f"{name}: its config.json describes other shapes of {counted(len(wrong), 'tensor')} than its"
            f" weights have, such as {key}: {needed}, and the weights {held}; put config.json"
            " and weights of one network into the folder"
        )
    return network, Fit(tuple(sorted(info["missing_keys"])), tuple(sorted(info["unexpected_keys"])))


def some(keys: Sequence[str]) -> str:
    """Return how many tensors there are, and the first of them.

    >>> some(["head.bias", "head.weight"])
    '2 tensors (head.bias, head.weight)'
    """
    more = ", ..." if len(keys) > _NAMED else ""
    return f"{counted(len(keys), 'tensor')} ({', '.join(keys[:_NAMED])}{more})"


def unused_note(name: str, unused: Sequence[str]) -> tuple[str, ...]:
    """Return a note on tensors in the files that the network does not have."""
    if not unused:
        return ()
    return (f"note: {name}: its files also hold {some(unused)}, which the network does not have",)


@contextmanager
def undefined(module: Any, keys: Iterable[str]) -> Iterator[bool]:
    """Set these tensors to NaN while the block runs, and say whether there are any: an answer that they do
    not reach has no NaN. Whole numbers are left alone, since no loader draws them.
    """
    import torch

    state = module.state_dict()
    held = {key: state[key].clone() for key in keys if key in state and state[key].is_floating_point()}
    with torch.no_grad():
        for key in held:
            state[key].fill_(float("nan"))
    try:
        yield bool(held)
    finally:
        with torch.no_grad():
            for key, values in held.items():
                state[key].copy_(values)
