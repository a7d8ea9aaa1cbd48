"""Labels outside a selection do not count, and where most lie there, a note names the option that counts them."""

from __future__ import annotations

from pathlib import Path

import faultscape as fs
import made_answers

NOTE = "labelled images lie outside this selection"


def test_truth_for_every_image_is_not_passed_over_in_silence(tmp_path: Path) -> None:
    answers = made_answers.study(tmp_path)
    chosen = fs.select(answers.study, top=4)
    made_answers.import_labels(answers)
    outside = len(answers.images) - len(chosen.images)
    few = fs.rank(answers.study, resamples=10)
    assert few.labels["used"] == len(chosen.images)
    line = f"faultscape rank {answers.study} --all-labels"
    assert f"{outside} {NOTE}; `{line}` counts them in the re-use rankings" in few.notes
    whole = fs.rank(answers.study, all_labels=True, resamples=10)
    assert whole.labels["used"] == len(answers.images)
    assert not any(NOTE in note for note in whole.notes)


def test_few_labels_outside_are_no_news(tmp_path: Path) -> None:
    answers = made_answers.study(tmp_path)
    chosen = fs.select(answers.study, top=4)
    others = [image for image in answers.images if image not in chosen.images][: len(chosen.images)]
    made_answers.import_labels(answers, [*chosen.images, *others])
    assert not any(NOTE in note for note in fs.rank(answers.study, resamples=10).notes)
