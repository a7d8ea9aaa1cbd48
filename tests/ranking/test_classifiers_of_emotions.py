"""Eight real classifiers of emotions, all labels known: what 104 of them say, beside what was measured
before.
"""

from types import SimpleNamespace

import numpy as np
import pytest

from faultscape.ranking.agreement import spearman
from faultscape.ranking.classifiers import classifier_rankings

REPEATS = 60


@pytest.fixture(scope="module")
def found(data):
    path = data / "classifiers" / "model-picker" / "emotion_detection.npz"
    if not path.is_file():
        pytest.skip("no real data: classifiers/model-picker")
    with np.load(path) as content:
        predictions, labels = content["predictions"], content["labels"]
    predictions = predictions if len(predictions) == 8 else predictions.T
    correct = (predictions == labels).astype(float)
    truth = correct.mean(1)
    models = [f"model {k}" for k in range(8)]
    rng = np.random.default_rng(0)
    agreement = {}
    for _ in range(REPEATS):  # with distances of 0 and 1 every disagreement is a largest one: four a pair
        rows = [
            SimpleNamespace(model_a=models[a], model_b=models[b], image=int(image))
            for a in range(8)
            for b in range(a)
            for image in rng.choice(np.flatnonzero(predictions[a] != predictions[b]), 4, replace=False)
        ]
        images = sorted({row.image for row in rows})
        table = classifier_rankings(models, rows, correct[:, images], images, resamples=0)
        for name, ranking in table.rankings.items():
            agreement.setdefault(name, []).append(spearman([ranking.scores[m] for m in models], truth))
    return agreement


# Spearman with the ranking of all 5,509 labels at 104 labels, measured before over 20 repeats
@pytest.mark.parametrize(
    ("name", "before"), [("perron", 0.670), ("bradley_terry", 0.685), ("reuse_mean", 0.807)]
)
def test_rankings_agree_with_all_labels_as_measured_before(found, name, before):
    values = np.array(found[name])
    error = values.std() * np.sqrt(1 / REPEATS + 1 / 20)
    assert abs(values.mean() - before) < 3 * error


def test_labels_re_used_say_more_than_labels_used_once(found):
    gain = np.array(found["reuse_mean"]) - np.array(found["perron"])
    assert gain.mean() > 3 * gain.std() / np.sqrt(REPEATS)
