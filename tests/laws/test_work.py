"""The law of work: what a verb does with ids grows as their number does, not as its square."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import faultscape as fs
import made
import made_answers
from faultscape.reading.study import Study
from faultscape.study import parts, snapshot
from faultscape.study.tables import label_maps
from faultscape.study.tables.corpus import Corpus, Image, write_corpus
from faultscape.verbs.collect import settings
from faultscape.verbs.label import masks
from faultscape.verbs.measure import sets
from faultscape.verbs.measure.work import of_other_images
from faultscape.verbs.options import LabelImportOptions


class Counted(str):
    """An id that counts how often ids are hashed and compared."""

    __slots__ = ()
    work = 0

    def __hash__(self) -> int:
        Counted.work += 1
        return super().__hash__()

    def __eq__(self, other: object) -> bool:
        Counted.work += 1
        return super().__eq__(other)


def images(number: int) -> list[Image]:
    """Images without pictures, two a shard."""
    return [
        Image(Counted(f"i{k}"), "", "main", "pool", "clean", "", 0, 0, "", None, "", k // 2)
        for k in range(number)
    ]


def work_of(do: Callable[[int], object], number: int) -> int:
    Counted.work = 0
    do(number)
    return Counted.work


def assert_grows_evenly(do: Callable[[int], object]) -> None:
    few, many = work_of(do, 50), work_of(do, 200)
    assert few > 0
    assert many <= 5 * few, f"{few} for 50 ids, {many} for 200"


def test_the_check_can_fail() -> None:
    with pytest.raises(AssertionError, match="for 50 ids"):
        assert_grows_evenly(
            lambda n: [id_ for id_ in range(n) if id_ not in {image.id for image in images(n)}]
        )


def test_lists_in_an_order_of_their_own(tmp_path: Path) -> None:
    def order(number: int) -> None:
        (tmp_path / "ids.csv").write_text("\n".join(["image", *(f"i{k}" for k in range(number, 2 * number))]))
        write_corpus(tmp_path / f"{number}", images(number))
        assert not settings.in_own_order(Corpus(tmp_path / f"{number}"), [], [str(tmp_path / "ids.csv")], "")

    assert_grows_evenly(order)


def test_labels_and_discards_that_are_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answered = made_answers.study(tmp_path / "made", images=4)

    def answers(number: int) -> None:
        monkeypatch.setattr(Corpus, "images", lambda *_: images(number))
        (tmp_path / "labels.csv").write_text("image,label\n" + "".join(f"i{k},cat\n" for k in range(number)))
        fs.label.import_(answered.study, str(tmp_path / "labels.csv"), truth=f"of-{number}")

    def discards(number: int) -> None:
        monkeypatch.setattr(Corpus, "images", lambda *_: images(number))
        monkeypatch.setattr(Corpus, "held", lambda *_: {image.id for image in images(number)})
        (tmp_path / "discard.csv").write_text(
            "image,reason\n" + "".join(f"i{k},bad\n" for k in range(number))
        )
        masks.import_(
            Study(answered.study), LabelImportOptions(study=answered.study, source=str(tmp_path)), None
        )

    assert_grows_evenly(answers)
    assert_grows_evenly(discards)


def test_labels_that_are_taken_back_again(tmp_path: Path) -> None:
    def take_back(number: int) -> None:
        rows = [label_maps.StoredMap(Counted(f"i{k}"), b"") for k in range(number)]
        label_maps.keep_taken_back(tmp_path / str(number), {0: rows}, "semantic")
        label_maps.keep_taken_back(tmp_path / str(number), {0: rows}, "semantic")

    assert_grows_evenly(take_back)


def test_failures_of_images_that_failed_before() -> None:
    def merge(number: int) -> None:
        failed = [(image.id, "no map") for image in images(number)]
        assert of_other_images([*failed, ("new", "no score")], failed) == [("new", "no score")]

    assert_grows_evenly(merge)


def test_manifests_are_read_once_however_many_shards_are_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads: dict[int, int] = {}
    for number in (3, 6):
        corpus = made.corpus(tmp_path / f"corpus-{number}", images=number, models=2, shape=(12, 16))
        study = made.collected(corpus, tmp_path / str(number), shard_size=1)
        fs.predict(str(study), corpus.models, engine="local")
        fs.label.import_(str(study), str(corpus.truth))
        read = []
        monkeypatch.setattr(
            snapshot,
            "read_manifest",
            lambda folder, read=read: read.append(folder) or parts.read_manifest(folder),
        )
        assert len(sets.of_study(fs.Study(study), "labels").shards) == number
        reads[number] = len(read)
    assert reads[3] == reads[6] > 0
