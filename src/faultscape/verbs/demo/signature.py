"""demo: try everything on drawn street scenes, in a minute."""

from __future__ import annotations

from faultscape.arguments import Place
from faultscape.verbs.demo.result import SCENES, Demonstrated
from faultscape.verbs.verb import verb


@verb("faultscape.verbs.demo.acts:play", changes_nothing=("engine",))
def demo(
    study: Place = "demo-study", *, scenes: int = SCENES, card: bool = False, engine: str = "processes"
) -> Demonstrated:
    """Draw street scenes, run five networks on them, and label only the images that show where the networks
    fail and which is best.

    Code draws the images and their truth, and the networks ship with the package. Run the demo again to
    resume it; finished work is kept.

    Parameters
    ----------
    study
        The study folder to create.
    scenes
        How many scenes to draw.
    card
        Continue with the third act: the reliability card of the networks, under corruptions and with unknown
        objects. It takes longer than the first two acts.
    engine
        local (this process), processes (all cores), ray, or ray://HOST:PORT.

    >>> fs.demo("demo-study")  # doctest: +SKIP
    """
    ...
