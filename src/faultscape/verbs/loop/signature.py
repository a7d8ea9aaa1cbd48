"""loop: rounds in which a network learns from its failures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from faultscape.arguments import Place
from faultscape.errors import OptionError
from faultscape.verbs.loop.result import Looped
from faultscape.verbs.train.options import need_libraries
from faultscape.verbs.verb import verb

if TYPE_CHECKING:
    from faultscape.verbs.options import LoopOptions

LEAST = {"images": 1, "judged": 4, "rounds": 1, "epochs": 1}


def _check(options: LoopOptions) -> None:
    need_libraries()
    for name, least in LEAST.items():
        value = getattr(options, name)
        if value is not None and value < least:
            raise OptionError(f"--{name} must be {least} or more; got {value}")
    if options.rate is not None and not 0 < options.rate < 1:
        raise OptionError(f"--rate must be above 0 and below 1; got {options.rate}")
    if options.rounds > 1 and options.masks is None:
        raise OptionError("--rounds is for --masks: without a folder of masks, each round waits for labels")


@verb("faultscape.verbs.loop.work:go_on", changes_nothing=("engine", "rounds"), check=_check)
def loop(
    study: Place,
    *,
    model: str | None = None,
    images: int | None = None,
    judged: int | None = None,
    epochs: int | None = None,
    rate: float | None = None,
    backbone: str | None = None,
    masks: Place | None = None,
    truth: str | None = None,
    rounds: int = 1,
    engine: str = "processes",
) -> Looped:
    """Continue rounds of choosing, labelling, training and judging: a network learns from images on which
    models differ most, and is judged on images that trained nothing.

    Each line does what can be done now, and ends where people are to label, with the line to type next. A
    round draws images in proportion to how far models differ (`select --selector mad --temperature 1`),
    continues the network on them (`train --init`), and compares parent and child on a fresh draw. loop.json
    keeps the rounds, loop.html shows what they cost and brought, and which failures were cured.

    Parameters
    ----------
    study
        The study folder; its models are compared, and one of them was trained in it.
    model
        The network to improve, one that `train` made; default: the only one. Its rounds are called MODEL-1,
        MODEL-2 and so on.
    images
        How many images each round learns from (default 10).
    judged
        How many images each round draws to judge on (default 20).
    epochs
        How often a round shows each new image (default 20).
    rate
        The peak learning rate of a round (default 1e-4).
    backbone
        If the network's backbone is a Python file, file.py:function again, so that it runs.
    masks
        A folder with masks of all images, for rounds without people: only masks of images that a round asks
        for are read.
    truth
        The labels to learn from and to judge by; default: labels, or the only ones.
    rounds
        With --masks: how many rounds to complete.
    engine
        local, processes, ray or ray://HOST:PORT.

    >>> done = fs.loop("study", model="unet", masks="masks", engine="local")  # doctest: +SKIP
    >>> done.rounds[0].network  # doctest: +SKIP
    'unet-1'
    """
    ...
