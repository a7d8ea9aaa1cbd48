"""A campaign of dense masks (S0 4.1.4): images shared out in sessions, masks back person by person, training
compared, a consensus by vote.
"""

from __future__ import annotations

import csv
import shutil
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import faultscape as fs
import made
from faultscape.errors import LabellingError
from faultscape.maps import runs
from faultscape.study.tables import label_maps
from faultscape.study.tables.corpus import read_corpus
from faultscape.study.tables.logs import read_failures
from faultscape.study.tables.selections import read_selection
from faultscape.terminal_lines import wrapped
from refusals import refused, refused_line, told, typed

PEOPLE = ("ann", "ben", "eve")


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, made.Corpus]:
    """A study in shards of eight with a selection, of which nothing has a label; others have."""
    folder = tmp_path_factory.mktemp("masks")
    corpus = made.corpus(folder / "corpus", images=24, models=3)
    study = Path(made.compared_study(corpus, folder / "study", shard_size=8))
    fs.select(str(study), selector="random", budget=12, as_="main")
    chosen = set(read_selection(study, "main")[0].images)
    for id_ in sorted(set(corpus.ids) - chosen)[:5]:
        made.write(folder / "known" / f"{id_}.png", corpus.truths[corpus.ids.index(id_)])
    fs.label.import_(str(study), str(folder / "known"))
    return study, corpus


@pytest.fixture
def study(world: tuple[Path, made.Corpus], tmp_path: Path) -> Path:
    return Path(shutil.copytree(world[0], tmp_path / "study"))


@pytest.fixture(scope="module")
def corpus(world: tuple[Path, made.Corpus]) -> made.Corpus:
    return world[1]


def shared(out: Path) -> dict[tuple[str, str], list[str]]:
    """What sessions.csv says: {(annotator, session): images}."""
    found: dict[tuple[str, str], list[str]] = {}
    with (out / "sessions.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            found.setdefault((row["annotator"], row["session"]), []).append(row["image"])
    return found


def drawn(corpus: made.Corpus, who: str, image: str) -> np.ndarray:
    """What somebody draws of an image: the truth, with mistakes of their own, none by ann."""
    truth = corpus.truths[corpus.ids.index(image)]
    return (
        truth
        if who == "ann"
        else made.disturbed(np.random.default_rng([PEOPLE.index(who), corpus.ids.index(image)]), truth, 2)
    )


def label(corpus: made.Corpus, out: Path, *, only: int = 99) -> dict[str, dict[str, np.ndarray]]:
    """Draw masks into the first sessions of everybody, and return what was drawn, without training."""
    said: dict[str, dict[str, np.ndarray]] = {}
    for (who, session), images in shared(out).items():
        if session == "training" or int(session.removeprefix("session-")) <= only:
            for image in images:
                mask = drawn(corpus, who, image)
                made.write(out / who / session / "labels" / f"{image}.png", mask)
                if session != "training":
                    said.setdefault(who, {})[image] = mask
    return said


def kept(study: Path, truth: str) -> dict[str, np.ndarray]:
    """The labels of a truth, as ids."""
    found: dict[str, bytes] = {}
    for number in {image.shard for image in read_corpus(study)}:
        found |= label_maps.read_maps(label_maps.truth(study, truth), number)
    table = np.arange(65536)
    return {id_: runs.decode(code, table) for id_, code in found.items()}


def export(study: Path, out: Path, **rules: object) -> object:
    rules = {"annotators": "ann,ben,eve", "session": 3, **rules}
    return fs.label.export(str(study), str(out), sessions=fs.options.SessionRules(**rules))


def test_each_image_goes_to_two_people_in_sessions_and_training_comes_first(
    study: Path, corpus: made.Corpus, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    lines = told(
        *typed(
            "label export {study} {out} --annotators ann,ben,eve --overlap 2 --session 3 --training 2",
            study=study,
            out=out,
        )
    )
    assert lines == [
        *wrapped(f"12 images to label in {out} (png), each by 2 people"),
        *(f"  {who}: 8 images in 3 sessions" for who in PEOPLE),
        "  training for everyone first: 2 labelled images",
        "next: put each mask into labels, in the folder of each session, named as its",
        "  image, then run",
        f"  faultscape label import {study} {out}",
    ]
    found = shared(out)
    chosen = read_selection(study, "main")[0].images
    assert Counter(
        image for (_, session), held in found.items() if session != "training" for image in held
    ) == dict.fromkeys(chosen, 2)
    assert len({tuple(found[who, "training"]) for who in PEOPLE}) == 1
    assert set(found["ann", "training"]) <= set(kept(study, "labels")) - set(chosen)
    for (who, session), images in found.items():
        folder = out / who / session
        photos = {
            str(path.relative_to(folder / "images"))[:-4] for path in (folder / "images").rglob("*.png")
        }
        assert photos == set(images)
        assert not [*(folder / "labels").rglob("*.png")]
        assert (folder / "classes.json").is_file()
    first = out / who / session / "images" / f"{images[0]}.png"
    assert (np.asarray(Image.open(first)) == np.asarray(Image.open(corpus.photos / f"{images[0]}.png"))).all()


def test_the_same_line_writes_the_same_and_another_seed_is_refused_there(study: Path, tmp_path: Path) -> None:
    export(study, tmp_path / "out")
    export(study, tmp_path / "again")
    before = made.bytes_under(tmp_path / "out", *PEOPLE, "sessions.csv")
    assert made.bytes_under(tmp_path / "again", *PEOPLE, "sessions.csv") == before
    export(study, tmp_path / "out")
    with refused(
        LabellingError, "already splits the images differently and is never overwritten; give another folder"
    ):
        export(study, tmp_path / "out", seed=1)
    assert made.bytes_under(tmp_path / "out", *PEOPLE, "sessions.csv") == before
    export(study, tmp_path / "other", seed=1)
    assert shared(tmp_path / "other") != shared(tmp_path / "out")


def test_training_outside_the_selection_goes_first_and_too_little_of_it_is_said(
    study: Path, corpus: made.Corpus, tmp_path: Path
) -> None:
    chosen = read_selection(study, "main")[0].images
    made.write(tmp_path / "more" / f"{chosen[0]}.png", corpus.truths[corpus.ids.index(chosen[0])])
    fs.label.import_(str(study), str(tmp_path / "more"))
    export(study, tmp_path / "five", training=5)
    assert chosen[0] not in shared(tmp_path / "five")["ann", "training"]
    export(study, tmp_path / "six", training=6)
    assert shared(tmp_path / "six")["ann", "training"][-1] == chosen[0]
    with refused(LabellingError, "--training 7: truth 'labels' has only 6 labels"):
        export(study, tmp_path / "seven", training=7)


@pytest.mark.parametrize("form", ["png", "labelme", "cvat", "cvat-masks"])
def test_sessions_go_out_in_every_format_that_draws(study: Path, tmp_path: Path, form: str) -> None:
    out = tmp_path / "out"
    fs.label.export(
        study,
        out,
        format=form,
        prefill="model-0",
        sessions=fs.options.SessionRules("ann,ben", session=5, training=1),
    )
    found = fs.label.import_(str(study), str(out))  # what a model filled in is a label once it comes back
    assert [(one.annotator, one.new, one.begun, one.sessions) for one in found.people] == [
        ("ann", 12, 3, 3),
        ("ben", 12, 3, 3),
    ]
    assert all(one.training == () for one in found.people)  # nothing is filled in there
    assert kept(study, "labels-ann").keys() == set(read_selection(study, "main")[0].images)


def test_masks_come_back_as_a_truth_of_each_and_training_is_compared(
    study: Path, corpus: made.Corpus, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    export(study, out, training=2)
    known = kept(study, "labels")
    said = label(corpus, out, only=2)
    lines = told("label", "import", study, out)
    assert lines[0] == "ann, truth labels-ann: 6 images added; 2 of 3 sessions started"
    assert lines[1].startswith("  training: mIoU 1.000 with the known labels of 2 images, lowest 1.000 on ")
    for who in PEOPLE:
        found = kept(study, f"labels-{who}")
        assert found.keys() == said[who].keys()
        assert all((found[id_] == mask).all() for id_, mask in said[who].items())
    assert kept(study, "labels").keys() == known.keys()  # training is compared, not kept
    images = shared(out)["ben", "training"]
    plain = {image: plain_miou([drawn(corpus, "ben", image)], [known[image]]) for image in images}
    whole = plain_miou([drawn(corpus, "ben", image) for image in images], [known[image] for image in images])
    worst = min(plain, key=lambda image: (plain[image], image))
    assert (
        f"  training: mIoU {whole:.3f} with the known labels of 2 images, lowest {plain[worst]:.3f} on {worst}"
        in lines
    )
    label(corpus, out)
    again = fs.label.import_(str(study), str(out))
    assert [(one.new, one.unchanged, one.begun) for one in again.people] == [(2, 6, 3)] * 3


def plain_miou(ones: list[np.ndarray], others: list[np.ndarray]) -> float:
    """The mean IoU of pooled pixels over the classes that either has, in the plainest way."""
    a, b = np.concatenate([one.ravel() for one in ones]), np.concatenate([one.ravel() for one in others])
    classes = sorted({*a.tolist(), *b.tolist()})
    return sum(((a == k) & (b == k)).sum() / ((a == k) | (b == k)).sum() for k in classes) / len(classes)


def test_what_one_person_did_wrong_keeps_nobody_else_back(
    study: Path, corpus: made.Corpus, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    export(study, out)
    label(corpus, out)
    images = shared(out)["ben", "session-01"]
    made.write(out / "ben" / "session-01" / "labels" / f"{images[0]}.png", np.zeros((5, 5), np.uint8))
    for image in shared(out)["eve", "session-02"]:
        made.write(out / "eve" / "session-02" / "labels" / f"{image}.png", np.full((36, 48), 77, np.uint8))
    shutil.rmtree(out / "ann" / "session-03")
    found = {one.annotator: one for one in fs.label.import_(str(study), str(out)).people}
    assert (found["ann"].new, found["ann"].begun) == (6, 2)
    assert (found["ben"].new, found["ben"].failures, found["ben"].begun) == (7, 1, 3)
    assert (found["eve"].new, found["eve"].begun) == (5, 2)
    assert images[0] in {row.image for row in read_failures(study) if row.name == "labels-ben"}


def test_a_folder_in_which_nobody_has_drawn_is_said(study: Path, tmp_path: Path) -> None:
    export(study, tmp_path / "out")
    assert "contains no masks yet" in refused_line("label", "import", study, tmp_path / "out")


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ("../../etc,session-01,x", "line 2: '../../etc' cannot name a person"),
        ("ann,../ben,x", "line 2: '../ben' cannot name a session"),
        ("ann,/tmp,x", "line 2: '/tmp' cannot name a session"),
        ("ann,.,x", "cannot name a session"),
        ("", "names no one"),
        ("ann,session-01", "line 2"),
        ("ann\0,s,x", "line 2|NUL"),
    ],
)
def test_a_list_of_sessions_names_folders_of_its_own_alone(
    study: Path, tmp_path: Path, rows: str, says: str
) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "sessions.csv").write_text(f"annotator,session,image\n{rows}\n")
    with refused(LabellingError, says):
        fs.label.import_(str(study), str(tmp_path / "out"))


def test_consensus_is_a_vote_of_each_pixel_and_says_what_to_discuss(
    study: Path, corpus: made.Corpus, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    export(study, out, overlap=3)
    said = label(corpus, out)
    fs.label.import_(str(study), str(out))
    line = [
        "label",
        "consensus",
        study,
        *(word for who in PEOPLE for word in ("--of", f"labels-{who}")),
        "--truth",
        "agreed",
    ]
    lines = told(*line)
    found, void = kept(study, "agreed"), 255
    plain = {}
    for image in said["ann"]:
        maps = np.stack([said[who][image] for who in PEOPLE])
        votes = np.stack([(maps == k).sum(0) for k in range(5)])
        plain[image] = np.where(votes.max(0) >= 2, votes.argmax(0), void)
        assert (found[image] == plain[image]).all()
    assert lines[0] == "truth agreed, by vote of labels-ann, labels-ben, labels-eve: 12 images added"
    one = plain_miou([said["ann"][i] for i in said["ann"]], [said["ben"][i] for i in said["ann"]])
    assert lines[1] == f"  labels-ann and labels-ben: mIoU {one:.3f} on 12 images"
    disputed = {
        i: float(((said["ann"][i] != said["ben"][i]) | (said["ann"][i] != said["eve"][i])).mean())
        for i in said["ann"]
    }
    worth = {i for i in disputed if disputed[i] > 0.1 or mean_miou(said, i) < 0.7}
    assert lines[4] == f"{len(worth)} images to discuss, largest disagreement first:"
    assert {line.partition(": ")[0].strip() for line in lines[5:]} == worth
    assert f"  {min(worth, key=lambda i: mean_miou(said, i))}: " in lines[5]
    before = made.bytes_under(study, "truth/agreed")
    turned = [
        *line[:3],
        *(word for who in reversed(PEOPLE) for word in ("--of", f"labels-{who}")),
        "--truth",
        "agreed",
    ]
    assert told(*turned)[-1] == lines[-1]
    assert made.bytes_under(study, "truth/agreed") == before


def mean_miou(said: dict[str, dict[str, np.ndarray]], image: str) -> float:
    pairs = [("ann", "ben"), ("ann", "eve"), ("ben", "eve")]
    return float(np.mean([plain_miou([said[a][image]], [said[b][image]]) for a, b in pairs]))


def test_a_tie_is_void_or_what_the_most_skilled_says(
    study: Path, corpus: made.Corpus, tmp_path: Path
) -> None:
    for who, wrong in (("ann", 0), ("ben", 1), ("eve", 6)):
        for id_ in corpus.ids[:6]:
            rng = np.random.default_rng([wrong, corpus.ids.index(id_)])
            made.write(
                tmp_path / who / f"{id_}.png",
                made.disturbed(rng, corpus.truths[corpus.ids.index(id_)], wrong),
            )
        fs.label.import_(str(study), str(tmp_path / who), truth=who)
    images = corpus.ids[:6]
    maps = {who: kept(study, who) for who in PEOPLE}
    fs.label.consensus(str(study), of=["ann", "eve"], truth="void")
    for image in images:
        a, b = maps["ann"][image], maps["eve"][image]
        assert (kept(study, "void")[image] == np.where(a == b, a, 255)).all()
    fs.label.consensus(str(study), of=[*PEOPLE], truth="skill", tie="skill")
    pooled = {
        (a, b): plain_miou([maps[a][i] for i in images], [maps[b][i] for i in images])
        for a, b in (("ann", "ben"), ("ann", "eve"), ("ben", "eve"))
    }
    skill = {who: np.mean([value for pair, value in pooled.items() if who in pair]) for who in PEOPLE}
    best = max(skill, key=lambda who: skill[who])
    assert best != "eve"
    for image in images:
        stack = np.stack([maps[who][image] for who in PEOPLE])
        votes = np.stack([(stack == k).sum(0) for k in range(5)])
        assert (
            kept(study, "skill")[image] == np.where(votes.max(0) >= 2, votes.argmax(0), maps[best][image])
        ).all()


def test_images_that_one_person_labelled_are_left_out_unless_asked_for(
    study: Path, corpus: made.Corpus, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for who, ids in (("ann", corpus.ids[:4]), ("ben", corpus.ids[2:5])):
        for id_ in ids:
            made.write(tmp_path / who / f"{id_}.png", corpus.truths[corpus.ids.index(id_)])
        fs.label.import_(str(study), str(tmp_path / who), truth=who)
    found = fs.label.consensus(str(study), of=["ann", "ben"], truth="both")
    assert (found.new, found.alone, found.discuss) == (2, 3, ())
    assert "3 images left out (labelled or checked by fewer than 2 people)" in " ".join(repr(found).split())
    assert kept(study, "both").keys() == set(corpus.ids[2:4])
    capsys.readouterr()
    assert fs.label.import_(str(study), str(tmp_path / "ben"), truth="both").unchanged == 2
    assert "replaced" not in capsys.readouterr().out  # none of them differs
    assert fs.label.consensus(str(study), of=["ann", "ben"], truth="any", least=1).new == 5
    made.write(tmp_path / "eve" / f"{corpus.ids[9]}.png", corpus.truths[9])
    fs.label.import_(str(study), str(tmp_path / "eve"), truth="eve")
    with refused(
        LabellingError, "no image has labels from 2 of ben, eve, so there is nothing to merge; --least 1"
    ):
        fs.label.consensus(str(study), of=["ben", "eve"], truth="none")


@pytest.mark.slow
def test_a_consensus_makes_standings_stale_and_ranks(
    study: Path, corpus: made.Corpus, tmp_path: Path
) -> None:
    export(study, tmp_path / "out")
    label(corpus, tmp_path / "out")
    fs.label.import_(str(study), str(tmp_path / "out"))
    fs.label.consensus(str(study), of=[f"labels-{who}" for who in PEOPLE], truth="labels")
    fs.rank(str(study))
    assert made.states(str(study))["rank"] == "done"
    fs.label.consensus(str(study), of=["labels-ann", "labels-ben"], truth="labels")  # says nothing new
    assert made.states(str(study))["rank"] == "done"
    fs.label.consensus(str(study), of=[f"labels-{who}" for who in PEOPLE], truth="labels", tie="skill")
    assert made.states(str(study))["rank"] == "stale"


def test_masks_of_two_sizes_are_named_and_the_others_joined(
    study: Path, corpus: made.Corpus, tmp_path: Path
) -> None:
    for who in ("ann", "ben"):
        for id_ in corpus.ids[:3]:
            made.write(tmp_path / who / f"{id_}.png", corpus.truths[corpus.ids.index(id_)])
        fs.label.import_(str(study), str(tmp_path / who), truth=who)
    folder = label_maps.truth(study, "ben")
    stored = {m.id: m for m in label_maps.read_stored(folder, 0)}
    stored[corpus.ids[0]] = label_maps.StoredMap(corpus.ids[0], runs.encode(np.zeros((4, 4), np.uint16)))
    sha = label_maps.put_maps(folder, 0, [stored[k] for k in sorted(stored)])
    parts = label_maps.read_manifest(folder)
    label_maps.write_manifest(
        folder, parts | {next(iter(parts)): label_maps.Part(sha, len(stored), "semantic")}
    )
    found = fs.label.consensus(str(study), of=["ann", "ben"], truth="both")
    assert (found.new, found.failures) == (2, 1)
    (row,) = [row for row in read_failures(study) if row.name == "both"]
    assert (row.image, row.reason) == (
        corpus.ids[0],
        "its masks have 4 x 4 and 48 x 36 pixels; import those with the wrong size again",
    )
