"""What other packages claim about a table of scores with few cases, and how often it is right, beside ours.

    python benchmarks/rank_peers.py TABLES.npz [--repeats 40]

Conventions: run in an environment that holds our package as well: ``pip install arenakit==0.1.1 autorank==1.3.0
bencheval==0.1.0 pandas``. TABLES.npz holds tables (J, I) by name, as benchmarks/rank_tables.py reads them. Draws are
those of rank_tables.py: n cases with replacement, ten models, tables as they are and recentred. A claim is that
one model is better than another: autorank's pairs by its own choice of test (``alpha`` .05, with its post hoc
test); arenakit's neighbours that it separates simultaneously, and so every model of an upper tier over all of a
lower one, from one battle a case and pair; bencheval's Elo ratings whose 95 % bootstrap intervals are disjoint.
The last two rank by shares of cases won: they are judged by the order of these shares, and nothing is true if all
are equal. *False*: share of draws with any false claim. MIST's ranking needs all of MIST, and is left out.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import warnings

import numpy as np
import pandas as pd
from arenakit.boot import bootstrap, separation
from arenakit.schema import Arena, Battle
from autorank import autorank
from bencheval.elo_utils import EloHelper

from faultscape.metrics.intervals.units import units_of
from faultscape.ranking.tables.differences import compare

DRAWS = 100


def ours(scores):
    said = compare(scores, units_of(scores.shape[1]), 499)
    return said.better.astype(int) - said.better.T


def of_autorank(scores):
    """Pairs that autorank calls different: Nemenyi's critical distance, or disjoint intervals after ANOVA."""
    j = len(scores)
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = autorank(pd.DataFrame(scores.T, columns=[str(k) for k in range(j)]), verbose=False)
    out = np.zeros((j, j), int)
    if not result.pvalue < 0.05:
        return out
    frame = result.rankdf.loc[[str(k) for k in range(j)]]
    rank = frame["meanrank"].to_numpy()
    if result.posthoc == "nemenyi":
        apart = np.abs(rank[:, None] - rank) > result.cd
        return apart * np.sign(rank[None, :] - rank[:, None]).astype(int)
    low = frame["ci_lower"].to_numpy()
    high = frame["ci_upper"].to_numpy()
    above = low[:, None] > high[None, :]
    return above.astype(int) - above.T


def of_arenakit(scores):
    j, n = scores.shape
    battles = [
        Battle(
            model_a=str(a),
            model_b=str(b),
            winner="tie" if scores[a, k] == scores[b, k] else "a" if scores[a, k] > scores[b, k] else "b",
            item_id=str(k),
        )
        for k in range(n)
        for a in range(j)
        for b in range(a)
    ]
    names = [str(k) for k in range(j)]
    found = bootstrap(Arena(battles, names), n_resamples=DRAWS, seed=0, cluster="item")
    out = np.zeros((j, j), int)
    tiers = separation(found, names).tiers
    for place, tier in enumerate(tiers):
        below = [model for other in tiers[place + 1 :] for model in other]
        out[np.ix_(tier, below)] = 1
    return out - out.T


def of_bencheval(scores):
    j, n = scores.shape
    rows = [(str(m), str(k), -scores[m, k]) for m in range(j) for k in range(n)]
    frame = pd.DataFrame(rows, columns=["method", "task", "error"])
    helper = EloHelper(method_col="method", task_col="task", error_col="error")
    battles = helper.convert_results_to_battles(frame)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        settings = {"SCALE": 400, "INIT_RATING": 1000}
        draws = helper.get_bootstrap_result(
            battles, helper.compute_mle_elo, 0, DRAWS, settings, show_process=False
        )[[str(k) for k in range(j)]].to_numpy()
    low, high = np.quantile(draws, [0.025, 0.975], axis=0)
    above = low[:, None] > high[None, :]
    return above.astype(int) - above.T


PACKAGES = {"ours": ours, "autorank": of_autorank, "arenakit": of_arenakit, "bencheval": of_bencheval}
BY_WINS = ("arenakit", "bencheval")


def true_order(table, name):
    """The sign of what a package ranks by: shares of cases won, or means."""
    if name in BY_WINS:
        won = (table[:, None] > table[None]).mean(2)
        return np.sign(np.round(won - won.T, 12)).astype(int)
    return np.sign(np.round(table.mean(1)[:, None] - table.mean(1), 12)).astype(int)


def main(path: str, repeats: int) -> None:
    print(
        "| table | cases | package | pairs claimed | false, % | false if recentred, % | failed |\n|"
        + "---|" * 7
    )
    for table_name, whole in np.load(path).items():
        table = whole[:10]
        for n in (10, 25):
            for name, package in PACKAGES.items():
                pairs, wrong, failed = 0.0, [0, 0], 0
                for place, of in enumerate((table, table - table.mean(1, keepdims=True))):
                    truth = true_order(of, name)
                    for k in range(repeats):
                        cases = np.random.default_rng([n, place, k]).integers(0, of.shape[1], n)
                        try:
                            claims = package(of[:, cases])
                        except Exception:  # noqa: BLE001 - a package that stops claims nothing
                            failed += 1
                            continue
                        wrong[place] += bool((claims * (claims != truth)).any())
                        pairs += (claims > 0).sum() / repeats if place == 0 else 0
                shares = " | ".join(f"{100 * w / repeats:.0f}" for w in wrong)
                print(f"| {table_name} | {n} | {name} | {pairs:.1f} | {shares} | {failed} |", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("tables")
    parser.add_argument("--repeats", type=int, default=40)
    given = parser.parse_args()
    main(given.tables, given.repeats)
