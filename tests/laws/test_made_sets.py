"""Made sets keep the laws of a study: no order, name or place changes what is made or what anything else
comes out as, and recipes are data that anybody may have written.
"""

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import faultscape as fs
import made
from faultscape.corpus.photos import read_photo
from faultscape.corpus.stress.recipes import CorruptStep, PlanStep, Recipe, Step, recipe_of
from faultscape.errors import ImageError
from faultscape.stressors.blend_plans import plan_blend
from faultscape.stressors.objects.cutout import Cutout
from faultscape.study.tables.corpus import Image, put_images, read_corpus, read_images
from made import states

IMAGE = Image("a", "/p/a.png", "main", "pool", "clean", "", 6, 4, "00", None, "a", 0)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> made.Corpus:
    root = tmp_path_factory.mktemp("made-sets")
    (root / "mine.py").write_text("def dark(photo):\n    return (photo[..., 0] < 128).astype('uint8')\n")
    return made.corpus(root, images=6, models=2, shape=(20, 28))


@pytest.fixture(scope="module")
def built(corpus: made.Corpus, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The same study without made sets, and with them in other orders."""
    root = tmp_path_factory.mktemp("orders")
    orders = {
        "plain": "predict label all",
        "late": "predict label all stress predict all",
        "early": "stress predict label all",
        "anew": "predict stress label predict leave out back stress predict all",
    }

    def build(study: str, order: str) -> None:
        made.collected(corpus, Path(study), shard_size=4)
        models = {
            "dark": f"{corpus.root / 'mine.py'}:dark",
            **{name: str(path) for name, path in corpus.models.items()},
        }
        steps = {
            "predict": lambda: fs.predict(study, models, engine="local"),
            "label": lambda: fs.label.import_(study, corpus.truth),
            "stress": lambda: fs.stress.corrupt(
                study, corruption=["contrast", "gaussian_noise"], severities="2", engine="local"
            ),
            "leave": lambda: fs.collect(study, remove=[corpus.ids[0]]),
            "out": lambda: fs.collect(study, remove=["contrast-2/*"]),
            "back": lambda: fs.collect(study, corpus.photos),
        }
        for step in order.split():
            if step == "all":
                fs.compare(study, engine="local")
                fs.select(study, engine="local")
                fs.measure(study, resamples=20, engine="local")
                fs.rank(study)
            else:
                steps[step]()

    for name, order in orders.items():
        build(str(root / name / "study"), order)
    return {name: root / name / "study" for name in orders}


@pytest.mark.slow
def test_made_sets_change_no_count_selection_measure_or_standing_whenever_they_come(
    built: dict[str, Path],
) -> None:
    numbers = {
        name: made.bytes_under(study, "pairs", "selection*", "measures", "standing*", "ranking*")
        for name, study in built.items()
    }
    assert len(numbers["plain"]) > 20
    assert numbers["late"] == numbers["early"] == numbers["anew"] == numbers["plain"]
    for name, study in built.items():
        found = states(str(study))
        assert found.pop("stress", "done") == "done"
        assert found == states(str(built["plain"])), name


def test_made_images_are_the_same_whenever_they_came(built: dict[str, Path]) -> None:
    late, early, anew = (
        {
            image.id: (image.digest, image.shard, image.near_duplicate_of, image.group)
            for image in read_corpus(built[name])
        }
        for name in ("late", "early", "anew")
    )
    assert len(late) == 18
    assert late == early
    assert {id_: row[0] for id_, row in anew.items()} == {id_: row[0] for id_, row in late.items()}
    assert made.bytes_under(built["late"], "predictions") == made.bytes_under(built["early"], "predictions")


def test_the_digest_of_a_blended_image_does_not_follow_from_what_files_are_called() -> None:
    plans = [
        plan_blend(
            (96, 128),
            [Cutout(np.zeros((30, 40, 3), np.uint8), np.full((30, 40), 255, np.uint8), name, "box")],
            "fishyscapes-v2",
            seed=0,
            key="a",
        )
        for name in ("a box", "another file")
    ]
    digests = [
        Recipe(f"/{k}.png", "00", PlanStep(plan.text(), f"/{k}")).made_digest for k, plan in enumerate(plans)
    ]
    assert digests[0] == digests[1]
    assert digests[0] != Recipe("/0.png", "01", PlanStep(plans[0].text(), "/0")).made_digest


@pytest.mark.parametrize("name", ["plain", "Größe", 'quo"te', "back\\slash"])
def test_recipes_find_the_files_of_a_study_wherever_it_lies_and_whatever_it_is_called(
    tmp_path: Path, name: str
) -> None:
    def rows(study: Path) -> list[Image]:
        blended = Recipe("/p/a.png", "00", PlanStep("{}", str(study / "objects")))
        corrupted = Recipe(blended.source, "00", CorruptStep("fog", 3, 0, "k"))
        again = Recipe(corrupted.source, "00", CorruptStep("snow", 3, 0, "k"))
        return [
            replace(IMAGE, id=str(k), source=one.source) for k, one in enumerate((blended, corrupted, again))
        ]

    (here := tmp_path / name).mkdir()
    put_images(here / "corpus.parquet", rows(here))
    assert read_images(here / "corpus.parquet") == rows(here)
    here.rename(there := tmp_path / f"moved {name}")
    assert read_images(there / "corpus.parquet") == rows(there)


def test_a_place_that_looks_like_that_of_the_study_stays_what_it_is(tmp_path: Path) -> None:
    address = "s3://study//photos/a.png"
    made_of = Recipe(address, "etag:1", CorruptStep("fog", 3, 0, "k")).source
    images = [replace(IMAGE, source=address), replace(IMAGE, id="b", source=made_of)]
    put_images(tmp_path / "corpus.parquet", images)
    assert read_images(tmp_path / "corpus.parquet") == images


def strange() -> list[str]:
    """Sources of which nothing can be made, as a file from anywhere may hold them; {} stands for the
    photo.
    """
    steps = {
        "corrupt": {"name": "contrast", "severity": 2, "seed": 0, "key": "k"},
        "fog": {"beta": 0.01, "light": 200},
        "blend": {"plan": "{}", "objects": "/nowhere"},
        "overlay": {"overlay": "/nowhere", "code": "00"},
    }
    wrong = {
        "name": (3, None, ["a"], "nope", "/nope.py:X", "\ud800", "frost"),
        "severity": ("2", 2.0, None, 9, 0, True, [1]),
        "seed": ("0", None, 1e400, True),
        "key": (3, None, "\ud800"),
        "textures": (3, "/nowhere"),
        "code": (3, None),
        "beta": ("x", None, -1, float("nan"), 1e400),
        "light": ("x", None, -5, 1e9, 200.5),
        "depth": (3, "/nowhere.npy", "a|b|c", "cityscapes|x|y", "/etc", "a\0b"),
        "depth_digest": (3,),
        "plan": ("x", 3, None, "[" * 50_000, '{"a": 1}'),
        "objects": (3, None, "a\0b"),
        "overlay": (3, None, "/etc/passwd", "/etc", "a\0b"),
    }
    held = [
        {kind: {**step, name: value, **({"textures": "/nowhere"} if value == "frost" else {})}}
        for kind, step in steps.items()
        for name, values in wrong.items()
        for value in values
        if name in step
        or name
        in {"corrupt": ("textures", "code"), "fog": ("depth", "depth_digest"), "blend": ("depth",)}.get(
            kind, ()
        )
    ]
    recipes = [
        {"of": "{}", "digest": "[]", **one}
        for one in [*held, {}, steps, {"corrupt": 1}, {"corrupt": {**steps["corrupt"], "more": 1}}]
    ]
    good = {"of": "{}", "digest": "[]", "corrupt": steps["corrupt"]}
    recipes += [
        {**good, **one}
        for one in (
            {"of": 3},
            {"of": ""},
            {"of": "/etc/passwd"},
            {"of": "stress:{"},
            {"of": "a\0b"},
            {"digest": None},
            {"digest": 3},
            {"digest": "00"},
        )
    ]
    return [
        "stress:",
        "stress:[]",
        "stress:null",
        "stress:" + "[" * 100_000,
        *("stress:" + json.dumps(one) for one in recipes),
    ]


def test_a_recipe_that_is_none_is_refused_in_one_line(corpus: made.Corpus) -> None:
    photo = corpus.photos / f"{corpus.ids[0]}.png"
    digest = hashlib.sha256(photo.read_bytes()).hexdigest()
    good = Recipe(str(photo), digest, CorruptStep("contrast", 2, 0, "k")).source
    assert read_photo(replace(IMAGE, source=good))[0].shape == (20, 28, 3)
    assert len(strange()) > 60
    for source in strange():
        image = replace(
            IMAGE, source=source.replace('"{}"', json.dumps(str(photo))).replace('"[]"', f'"{digest}"')
        )
        with pytest.raises(ImageError) as refused:
            read_photo(image)
        assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "step",
    [
        CorruptStep("fog", 3, 0, "k"),
        PlanStep("{}", "/o", "0", "/d", "1"),
        CorruptStep("frost", 1, 7, "k", "/ice", "c"),
    ],
)
def test_a_recipe_comes_back_as_it_was(step: Step) -> None:
    for of in ("a.png", "s3://b/ä.png", Recipe("x", "1", CorruptStep("snow", 1, 0, "")).source):
        assert recipe_of(Recipe(of, "5f3c", step).source) == Recipe(of, "5f3c", step)


@pytest.mark.slow
def test_a_line_that_is_killed_at_any_of_its_files_does_the_rest_when_it_runs_again(
    corpus: made.Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put, left = Path.replace, [0]

    def dying(path: Path, to: Path) -> Path:
        left[0] -= 1
        if left[0] == 0:
            raise KeyboardInterrupt
        return put(path, to)

    def begun(name: str) -> str:
        study = str(made.collected(corpus, tmp_path / name, shard_size=4))
        fs.label.import_(study, str(corpus.truth))
        return study

    def line(study: str) -> None:
        fs.stress.corrupt(
            study,
            corruption=["contrast", "elastic_transform"],
            severities="2",
            move_labels=True,
            engine="local",
        )

    def files(study: str) -> dict[str, bytes]:
        return made.bytes_under(
            Path(study), "corpus.parquet", "sets.json", "stress", "truth", "removed.parquet"
        )

    line(whole := begun("whole"))
    monkeypatch.setattr(Path, "replace", dying)
    killed = 0
    for moment in range(1, 40):
        study = begun(f"killed {moment}")
        left[0] = moment
        try:
            line(study)
        except KeyboardInterrupt:
            killed += 1
        left[0] = 0
        finished = files(study) == files(whole)
        assert finished or states(study).get("stress") != "done", moment
        line(study)
        assert files(study) == files(whole), moment
        assert states(study)["stress"] == "done"
        if killed < moment:
            break
    assert killed >= 6
