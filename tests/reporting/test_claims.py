"""What a headline may rest on: rankings that speak of the pool, the one that stands first among them, and
never one that cannot be used.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import faultscape as fs
import made
from faultscape.ranking.replicates import unusable
from faultscape.reporting.competition import other_questions
from faultscape.reporting.competition.standing_tables import (
    CAVEAT,
    best_at_once,
    caveat,
    claiming,
    firsts,
    rank_table,
    verdict,
)
from faultscape.standings import Benchmark, ModelRanking, OtherSelection, Standings, is_open
from faultscape.verbs.rank.result import Ranked

MODELS = ("a", "b", "c")


def ranking(tied: str, best: str | None = None, speaks_of: str = "pool", order: str = "abc") -> ModelRanking:
    held = list(tied if best is None else best)
    ranges: dict[str, list[float]] = {m: [1, len(held)] if m in held else [len(held) + 1, 3] for m in order}
    return ModelRanking(
        order=list(order),
        scores={m: float(-order.index(m)) for m in order},
        score_interval={m: [-3.0, 1.0] for m in order},
        rank_interval=ranges,
        simultaneous_rank_interval=ranges,
        tied_for_best=list(tied),
        best_set=held,
        speaks_of=speaks_of,
    )


def ranked(ranges: dict[str, list[float]]) -> ModelRanking:
    best = [m for m in MODELS if ranges[m][0] == 1]
    return replace(ranking("".join(best)), rank_interval=ranges, simultaneous_rank_interval=ranges)


def standings(**rankings: ModelRanking) -> Standings:
    return Standings(MODELS, {"used": 90}, {}, rankings, {})


DUELS = {name: ranking("a", speaks_of="chosen") for name in ("perron", "reuse_mean")}


def test_duels_lead_on_the_chosen_images_and_without_a_level() -> None:
    found = standings(**DUELS)
    head, words = verdict(found)
    assert head == "a leads on the chosen images"
    assert words.startswith(CAVEAT)
    assert words.endswith("Only 'a' can be best (Perron rank, corrected for multiple comparisons).")
    assert best_at_once(found) == (
        "Corrected for multiple comparisons, only a could be best by Perron rank; only a by Mean over all labels."
    )
    terminal = repr(Ranked.of(found))
    assert "\n    score: mean of per-image accuracy\n" in Ranked.of(found).full_text()
    assert "95 %" not in terminal
    assert "  perron, intervals descriptive\n" in terminal
    assert terminal.index(CAVEAT) < terminal.index("perron")
    assert rank_table("perron", DUELS["perron"], MODELS).descriptive


def test_of_drawn_images_the_headline_rests_on_what_speaks_of_the_pool() -> None:
    found = standings(margins=ranking("ab"), reuse_mean=ranking("c", speaks_of="chosen"))
    assert caveat(found) == ""
    assert list(claiming(found)) == ["margins"]
    assert verdict(found) == (
        "a or b could be best",
        "Ranking: Margins, 95 %, corrected for multiple comparisons.",
    )
    assert "c by" not in best_at_once(found)
    assert "  margins, intervals of this pool\n" in repr(found)
    assert "  reuse_mean, intervals descriptive\n" in repr(found)


def test_ranks_that_may_be_any_are_open_on_the_terminal_and_in_tables_and_no_number_is_nan() -> None:
    nan = float("nan")
    said = replace(
        ranking("abc"),
        rank_interval={"a": [1, 3], "b": [2, 2], "c": [2, 3]},
        simultaneous_rank_interval={},
        scores={"a": 0.5, "b": 0.25, "c": nan},
    )
    found = replace(
        standings(reuse_mean=said),
        against={"other": OtherSelection({"reuse_mean": nan}, {"reuse_mean": nan}, 0.5)},
        benchmark=Benchmark({}, {}, {}, {"reuse_mean": [0.5, nan, nan]}),
    )
    lines = repr(Ranked.of(found)).splitlines()
    assert [line.split("rank ")[1].split()[0] for line in lines if "  rank " in line] == ["open", "2", "2-3"]
    assert "nan" not in repr(Ranked.of(found))
    assert "  against other: overlap of images 0.500; Spearman reuse_mean –" in lines
    assert "  against the benchmark: Spearman reuse_mean 0.500" in lines
    at_once = replace(
        said, simultaneous_rank_interval={m: [1, 3] for m in "abc"}, tied_for_best=["b"], best_set=["a", "b"]
    )
    # the terminal has the ranks of the report's first table
    told = repr(Ranked.of(standings(reuse_mean=at_once))).splitlines()
    assert [line.split("rank ")[1].split()[0] for line in told if "  rank " in line] == ["open"] * 3
    assert "could be best" not in "\n".join(told[2:])
    rows = rank_table("reuse_mean", at_once, MODELS).rows
    assert [row.words for row in rows] == [("open", "open"), ("2", "open"), ("2–3", "open")]


def test_draws_whose_intervals_do_not_hold_are_not_called_images_that_were_chosen_for_what_models_say() -> (
    None
):
    found = standings(lure=ranking("a", speaks_of="chosen"), reuse_mean=ranking("a", speaks_of="chosen"))
    head, said = verdict(found)
    assert head == "a leads on the chosen images"
    assert said.startswith("The images were drawn at random, but the intervals do not hold for the pool")
    assert caveat(standings(reuse_mean=ranking("a", speaks_of="chosen"))).startswith(
        "These images were chosen for what the models predict"
    )


def test_the_headline_is_one_sentence_that_claims_what_corrected_intervals_allow() -> None:
    assert verdict(standings(margins=ranking("a")))[0] == "a leads"
    assert verdict(standings(margins=ranking("a", "ab")))[0] == (
        "a leads, but not conclusively: b could be best too"
    )
    assert verdict(standings(margins=ranking("ab", "abc")))[0] == "any of the 3 models could be best"
    assert verdict(standings(perron=ranking("ab", speaks_of="chosen")))[0] == (
        "a or b could be best on the chosen images"
    )


def test_the_first_screen_has_one_notion_of_95_per_cent() -> None:
    for tied, best in (("a", "a"), ("a", "ab"), ("ab", "ab"), ("ab", "abc")):
        head, words = verdict(standings(margins=ranking(tied, best)))
        assert f"{head} {words}".count("95 %") == 1
        assert "one pair at a time" not in words
    old = standings(margins=ranking("a", ""))  # from before there were corrected tests: no claim of them
    assert verdict(old)[1] == "Only 'a' can be best (Margins, 95 %, one pair at a time)."


def test_the_headline_is_that_of_the_ranking_that_stands_first() -> None:
    found = standings(margins=ranking("a"), lure=ranked({"a": [2, 3], "b": [1, 2], "c": [1, 2]}))
    head, words = verdict(found)
    assert head == "a leads"
    assert words == (
        "Only 'a' can be best (Margins, 95 %, corrected for multiple comparisons). In other rankings, 'b' or 'c'"
        " could be best too."
    )


def test_ranks_that_are_all_open_bring_no_model_into_the_verdict_and_none_is_marked_beside_them() -> None:
    first = ranked({"a": [1, 1], "b": [2, 3], "c": [2, 3]})
    found = standings(margins=first, lure=ranking("abc"))
    head, words = verdict(found)
    assert (head, words) == verdict(standings(margins=first))
    assert best_at_once(found) == best_at_once(standings(margins=first))
    assert "could be best" not in repr(found)
    part = ranked({"a": [1, 2], "b": [1, 3], "c": [2, 3]})  # of b nothing is known, of a something
    assert ["could be best" in line for line in repr(standings(lure=part)).splitlines()[-3:]] == [
        True,
        False,
        False,
    ]
    assert "In other rankings, 'b' could" not in verdict(standings(margins=first, lure=part))[1]


def test_a_model_that_comparisons_do_not_link_to_the_others_is_unknown_and_not_worse() -> None:
    alone = {m: float("nan") if m == "c" else 0.5 for m in MODELS}
    lone = {name: replace(said, scores=alone) for name, said in DUELS.items()}
    head, words = verdict(standings(**lone))
    assert head == "a leads on the chosen images, but not conclusively"
    assert words.endswith(
        "Only 'a' can be best (Perron rank, corrected for multiple comparisons). c has no score by Perron rank, and"
        " may be better."
    )
    two = standings(
        perron=replace(ranking("ab", speaks_of="chosen"), scores=alone),
        reuse_mean=ranking("ab", speaks_of="chosen"),
    )
    assert verdict(two)[1].endswith(
        "Ranking: Perron rank, corrected for multiple comparisons. c has no score by Perron rank, and may be better."
    )
    assert (
        best_at_once(two)
        == "Corrected for multiple comparisons, a or b could be best by Perron rank (c has no score there, and"
        " may be better); a or b by Mean over all labels."
    )
    ahead = standings(
        margins=replace(ranking("a"), scores=alone), lure=ranked({"a": [1, 2], "b": [1, 2], "c": [3, 3]})
    )
    assert verdict(ahead) == (
        "a leads, but not conclusively",
        (
            "Only 'a' can be best (Margins, 95 %, corrected for multiple comparisons). In other rankings, 'b' could be"
            " best too. c has no score by Margins, and may be better."
        ),
    )


def test_a_ranking_that_cannot_be_used_is_no_first_ranking_and_no_table() -> None:
    none = unusable(MODELS, "effective sample size 4.0, below 10")
    found = standings(lure=none, reuse_mean=ranking("a", speaks_of="chosen"))
    assert firsts(found) == {"re-use": "reuse_mean"}
    head, words = verdict(found)
    assert head == "a leads on the chosen images"
    assert words.startswith("The pool cannot be scored yet: effective sample size 4.0, below 10. ")
    assert "not at random" not in words
    assert "  lure: cannot be used: effective sample size 4.0, below 10\n" in repr(found)
    assert rank_table("lure", none, MODELS).unusable == "effective sample size 4.0, below 10"
    (question,) = other_questions.questions({"drawn": found}, {})
    assert question.ranking == "reuse_mean"
    assert verdict(standings(lure=none))[0] == "No intervals yet"
    many = replace(standings(lure=none), definitions={"resamples": 1000})  # more resamples cure nothing
    assert verdict(many)[1].endswith("No ranking can carry any: effective sample size 4.0, below 10.")
    assert verdict(standings(lure=none))[1].endswith("Run rank with --resamples 1000.")


def test_duels_of_too_few_groups_have_no_interval_and_the_headline_says_what_gives_some() -> None:
    untested = {
        name: replace(ranking("", speaks_of="chosen"), score_interval={}, rank_interval={}) for name in DUELS
    }
    few = replace(standings(**untested), labels={"used": 90, "groups": 2}, definitions={"resamples": 1000})
    head, words = verdict(few)
    assert head == "No intervals yet"
    assert words.endswith(
        "Labels lie in 2 groups of images, and an interval needs 6: label images of more groups, or cut"
        " groups into runs of images (collect --block N)."
    )
    assert best_at_once(few) == ""
    table = rank_table("perron", untested["perron"], MODELS)
    assert {row.words[0] for row in table.rows} == {"open"}
    assert not table.intervals
    assert rank_table("perron", DUELS["perron"], MODELS).intervals


def test_beside_each_other_every_ranking_says_what_its_ranges_speak_of() -> None:
    found = {
        "main": standings(**DUELS),
        "drawn": standings(margins=ranking("a")),
        "next": standings(margins=ranking("a", speaks_of="future")),
    }
    said = {(q.selection, q.ranking): q.speaks_of for q in other_questions.questions(found, {})}
    assert said == {
        ("main", "perron"): "the chosen images",
        ("main", "reuse_mean"): "the chosen images",
        ("drawn", "margins"): "this pool",
        ("next", "margins"): "data to come",
    }


def test_with_a_handful_of_labels_head_and_tables_agree_that_nobody_leads(tmp_path: Path) -> None:
    corpus = made.corpus(tmp_path, images=12, models=3)
    study = str(tmp_path / "study")
    fs.run(study, corpus.photos, corpus.models, classes=corpus.classes, goal="failures", engine="local")
    fs.select(study, selector="random", budget=8)
    fs.label.import_(study, corpus.truth)
    found = fs.rank(study, selection="random", resamples=100)
    assert found.labels["used"] == 8
    assert verdict(found)[0] == "Too few labels to say who leads"
    assert is_open(found, "best")
    assert is_open(found, "order")
    assert ", intervals " not in repr(found)
    for name, said in found.rankings.items():
        assert not any(row.kind or row.marks[0].low for row in rank_table(name, said, found.models).rows), (
            name
        )
    page = Path(fs.report(study, selection="random").path).read_text()
    assert "<h1>No one can say yet which of the 3 models is best</h1>" in page
    assert "Ahead of all others" not in page


def test_a_rounded_number_has_no_negative_zero() -> None:
    near = replace(
        ranking("a"),
        scores={"a": -1e-6, "b": -0.2, "c": -0.3},
        score_interval={m: [-1e-6, 0.4] for m in MODELS},
    )
    assert "0.00  [0.00, 0.40]" in repr(standings(lure=near))
    assert "-0.0000" not in repr(standings(lure=near))
