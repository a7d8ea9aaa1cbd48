"""Standings of draws from arrays, with the options of evidence, panel and ranking beside each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from faultscape.nouns import Draw
from faultscape.ranking.assembly import assemble
from faultscape.ranking.drawn.rankings import Draws
from faultscape.ranking.drawn.scores import Expected
from faultscape.ranking.panel import Panel, RankingOptions
from faultscape.standings import Standings

_OF_DRAWS = (
    "rest",
    "lost",
    "elsewhere",
    "partly",
    "population",
    "widen",
    "where",
    "anytime",
    "votes",
    "voices",
)
_OF_PANEL = ("keys", "groups", "discarded")


def draw_rankings(
    models: Sequence[str],
    rows: Sequence[Draw],
    accuracy: ArrayLike,
    images: Sequence[str],
    *,
    learns: bool,
    proxy: np.ndarray | None = None,
    proxy_named: np.ndarray | None = None,
    pool: Sequence[str] | None = None,
    **options: Any,
) -> Standings:
    """Return the standings from (J, I) scores of the models on the labelled images; the losses on the pool
    that predictions let expect are ``proxy`` (`Expected`), and options are those of `Draws`, `Panel.of` and
    `RankingOptions`.
    """
    expected = None if proxy is None or pool is None else Expected(pool, proxy, proxy_named)
    of_draws = {name: options.pop(name) for name in _OF_DRAWS if name in options}
    of_panel = {name: options.pop(name) for name in _OF_PANEL if name in options}
    return assemble(
        Panel.of(models, images, accuracy, **of_panel),
        Draws(rows, learns, expected, **of_draws),
        RankingOptions(**options),
    )
