"""Blended frames: plans, labels, and the same bytes in any order, process and machine."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy._core._multiarray_umath import __cpu_dispatch__
from PIL import Image

import blend_digests
import faultscape as fs
from blend_digests import base_frame, digests, small_cutouts
from faultscape.stressors import BlendPlan, Cutout, Fog, blend, drawn_cutouts, plan_blend, plan_of_text
from faultscape.stressors.blend_steps.catalogue import BlendPreset
from refusals import refused

GOLDEN = {  # of digests(["a", "b", "c"]), on every machine
    "fishyscapes-v1 a": "401ba1070d060563",
    "fishyscapes-v2 a": "24157db864d8e035",
    "fishyscapes-v3 a": "f6ea5ea51a334ae6",
    "fishyscapes-v1 b": "1fc3f90dc2f0cc7f",
    "fishyscapes-v2 b": "f4d299ca548eb359",
    "fishyscapes-v3 b": "cfbb964fbb5c2160",
    "fishyscapes-v1 c": "63f1ee75a267b145",
    "fishyscapes-v2 c": "98c59475cfb277a8",
    "fishyscapes-v3 c": "244922e6677976a8",
}
DISABLED = " ".join(__cpu_dispatch__)


def made(
    key: str, preset: BlendPreset = "fishyscapes-v2", void: np.ndarray | None = None, **options: object
) -> tuple[BlendPlan, fs.stressors.Blended]:
    cutouts, base = small_cutouts(), base_frame()
    plan = plan_blend(base.shape[:2], cutouts, preset, seed=1, key=key, **options)
    return plan, blend(base, plan.placed(cutouts), plan, void)


def test_frames_have_these_bytes_on_every_machine() -> None:
    assert digests(["a", "b", "c"]) == GOLDEN


@pytest.mark.slow
def test_frames_are_the_same_in_other_orders_on_other_processors_and_without_numba(tmp_path: Path) -> None:
    others = [
        {
            "NPY_DISABLE_CPU_FEATURES": DISABLED,
            "OPENCV_CPU_DISABLE": "AVX2,AVX,FMA3,SSE4.2",
            "FAULTSCAPE_NUMBA": "1",
            "NUMBA_CPU_NAME": "generic",
            "NUMBA_CPU_FEATURES": "",
            "NUMBA_CACHE_DIR": str(tmp_path),
        },
        {"FAULTSCAPE_NUMBA": "0", "OMP_NUM_THREADS": "1"},
    ]
    with ExitStack() as stack:
        programs = [
            stack.enter_context(
                subprocess.Popen(
                    [sys.executable, blend_digests.__file__, *keys],
                    env={**os.environ, **env},
                    stdout=subprocess.PIPE,
                    text=True,
                )
            )
            for env, keys in zip(others, (["b"], ["c", "b", "a"]), strict=True)
        ]
        texts = [program.communicate()[0] for program in programs]
    for text, count in zip(texts, (3, 9), strict=True):
        found = dict(line.rsplit(" ", 1) for line in text.splitlines())
        assert len(found) == count
        assert found == {name: GOLDEN[name] for name in found}


def test_a_plan_is_the_same_for_cutouts_in_any_order_and_another_for_another_seed_key_or_draw() -> None:
    cutouts = drawn_cutouts(1)
    shuffled = random.Random(0).sample(cutouts, len(cutouts))
    plans = [plan_blend((96, 160), of, "fishyscapes-v2", seed=1, key="a") for of in (cutouts, shuffled)]
    assert plans[0] == plans[1]
    others = [
        plan_blend((96, 160), cutouts, "fishyscapes-v2", seed=seed, key=key, draw=draw)
        for seed, key, draw in ((2, "a", 0), (1, "b", 0), (1, "a", 1))
    ]
    assert len({plan.text() for plan in (plans[0], *others)}) == 4


def test_presets_put_the_same_object_in_the_same_place_so_that_old_and_new_can_be_compared() -> None:
    cutouts = drawn_cutouts(1)
    one, two = (
        plan_blend((96, 160), cutouts, preset, seed=1, key="a", fog_chance=0.7)
        for preset in ("fishyscapes-v1", "fishyscapes-v2")
    )
    assert [(p.cutout, p.box, p.flip, p.brightness, p.noise, p.noise_start) for p in one.objects] == [
        (p.cutout, p.box, p.flip, p.brightness, p.noise, p.noise_start) for p in two.objects
    ]
    assert one.fog == two.fog
    assert (
        one.objects[0].histogram
        == one.objects[0].motion
        == one.objects[0].glow
        == 0
        < two.objects[0].histogram
    )


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**40), st.text(max_size=8), st.sampled_from(blend_digests.PRESETS), st.integers(1, 3))
def test_a_plan_comes_back_from_its_text(seed: int, key: str, preset: BlendPreset, count: int) -> None:
    plan = plan_blend(
        (96, 160), small_cutouts(), preset, seed=seed, key=key, objects_per_frame=count, fog_chance=0.5
    )
    assert plan_of_text(plan.text()) == plan
    assert len(plan.text()) < 2000 * count
    assert json.loads(plan.text())["preset"] == preset


def test_an_object_without_a_class_or_a_name_comes_back_too() -> None:
    nameless = replace(small_cutouts()[0], name="", class_="")
    plan = plan_blend((96, 160), [nameless], "fishyscapes-v1", seed=0, key="a")
    assert plan_of_text(plan.text()) == plan


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("no json", r"not a valid plan of a blended frame \(JSON: Invalid JSON"),
        (
            '{"preset":"fishyscapes-v9","height":1,"width":1,"focus":[0,0],"objects":[]}',
            r"\(preset: Input should be 'fishyscapes-v1'",
        ),
        (
            '{"preset":"fishyscapes-v1","height":1,"width":1,"focus":[0,0],"objects":[{"x":"left"}]}',
            r"\(objects\.0\.cutout: Field required",
        ),
    ],
)
def test_texts_that_are_no_plan_are_refused_in_one_line(text: str, says: str) -> None:
    with refused(fs.errors.CorpusError, says):
        plan_of_text(text)


@pytest.mark.parametrize(
    "change",
    [
        {"width": 10**9},
        {"height": 0},
        {"depth": 10**9},
        {"glow_width": float("nan")},
        {"motion": -0.1},
        {"noise_start": 2**64},
    ],
)
def test_plans_with_numbers_that_nobody_drew_are_refused(change: dict[str, float]) -> None:
    plan = json.loads(plan_blend((96, 160), small_cutouts(), "fishyscapes-v2", seed=0, key="a").text())
    plan["objects"][0] |= change
    with refused(
        fs.errors.CorpusError,
        r"not a valid plan of a blended frame \(a number is out of range\); make the set again",
    ):
        plan_of_text(json.dumps(plan))


def test_a_plan_names_the_object_that_is_not_there_or_changed() -> None:
    cutouts = small_cutouts()
    plan = plan_blend((96, 160), cutouts, "fishyscapes-v1", seed=0, key="a")
    changed = [replace(cutout, pixels=cutout.pixels + np.uint8(1)) for cutout in cutouts]
    with refused(
        fs.errors.CorpusError,
        r"the plan uses (hard )?cow, whose pixels \(\w{32}\) are not among the 3 cut-outs given",
    ):
        plan.placed(changed)
    assert plan.placed(cutouts) == plan.placed(iter(cutouts))


@pytest.mark.parametrize("preset", ["fishyscapes-v1", "fishyscapes-v2"])
def test_objects_are_1_over_void_too_uncovered_void_stays_255_and_all_else_is_0(preset: BlendPreset) -> None:
    for key in "abcdef":
        void = np.zeros((96, 160), bool)
        void[:, ::2] = True
        plan, blended = made(key, preset, void)
        (placed,) = plan.objects
        area = (
            {c.digest: c for c in small_cutouts()}[placed.cutout].area
            * placed.width
            * placed.height
            / {c.digest: c for c in small_cutouts()}[placed.cutout].alpha.size
        )
        assert (blended.labels == 1).sum() == pytest.approx(area, rel=0.12)
        assert (blended.labels[void] == 1).any()
        assert set(np.unique(blended.labels[~void])) == {0, 1}
        assert set(np.unique(blended.labels[void])) == {1, 255}
        assert blended.pixels == tuple(int((blended.labels == value).sum()) for value in (1, 0, 255))


def test_pixels_away_from_the_object_keep_their_bytes() -> None:
    plan, blended = made("a")
    (placed,) = plan.objects
    margin = 30
    far = np.ones((96, 160), bool)
    far[
        max(0, placed.y - margin) : placed.y + placed.height + margin,
        max(0, placed.x - margin) : placed.x + placed.width + margin,
    ] = False
    assert far.any()
    assert np.array_equal(blended.image[far], base_frame()[far])
    assert (blended.image != base_frame())[blended.labels == 1].mean() > 0.9


def test_a_bright_object_sheds_light_on_the_frame_around_it() -> None:
    lamp = Cutout(np.full((20, 20, 3), 255, np.uint8), np.full((20, 20), 255, np.uint8), "lamp")
    base = np.full((96, 160, 3), 30, np.uint8)
    plan = plan_blend(base.shape[:2], [lamp], "fishyscapes-v2", seed=1, key="a")
    bare = replace(plan.objects[0], x=70, y=40, brightness=0.0, histogram=0.0, glow=3.0, glow_width=3.0)
    lit, unlit = (blend(base, [(lamp, placed)], plan) for placed in (bare, replace(bare, glow=0.0)))
    assert np.array_equal(lit.labels, unlit.labels)
    gain = (lit.image.astype(int) - unlit.image)[:, :, 0][lit.labels == 0]
    assert gain.max() > 5
    assert gain.min() >= 0


def test_v3_gives_a_frame_either_anomalies_or_known_objects_at_their_own_place_labelled_0() -> None:
    kinds = []
    for key in map(str, range(60)):
        plan = plan_blend((96, 160), small_cutouts(), "fishyscapes-v3", seed=1, key=key)
        kinds.append(plan.objects[0].use)
    assert 20 <= kinds.count("known") <= 40
    draws = [
        plan_blend((96, 160), small_cutouts(), "fishyscapes-v3", seed=1, key="a", draw=draw).objects[0].use
        for draw in range(12)
    ]
    assert set(draws) == {"known", "anomaly"}, "a base that is used again may get the other kind"
    for key in map(str, range(6)):
        plan, blended = made(key, "fishyscapes-v3", objects_per_frame=2)
        uses = {placed.use for placed in plan.objects}
        assert len(uses) == 1
        assert uses == {kinds[int(key)]}
        if uses == {"known"}:
            assert all(
                placed.box == (40, 50, *reversed(small_cutouts()[2].alpha.shape)) and not placed.flip
                for placed in plan.objects
            )
            assert blended.pixels[0] == 0
            assert [step.step for step in blended.steps[:6]] == [
                "alpha",
                "brightness",
                "motion",
                "depth",
                "noise",
                "glow",
            ]
            assert (blended.image != base_frame()).any()
        else:
            assert blended.pixels[0] > 0
    assert set(kinds[:6]) == {"known", "anomaly"}


def test_a_known_object_whose_own_place_is_forbidden_is_left_for_one_whose_place_is_free() -> None:
    ego = np.zeros((96, 160), bool)
    ego[70:] = True
    soft, hard, known = small_cutouts()
    stands_on_it = replace(known, pixels=known.pixels // 2, corner=(40, 60), name="on the bonnet")
    stands_free = replace(known, corner=(40, 30))
    plans = [
        plan_blend(
            (96, 160),
            [soft, hard, stands_on_it, stands_free],
            "fishyscapes-v3",
            seed=1,
            key=str(key),
            forbidden=ego,
        )
        for key in range(30)
    ]
    kept = [placed for plan in plans for placed in plan.objects if placed.use == "known"]
    assert len(kept) >= 10
    assert {placed.cutout for placed in kept} == {stands_free.digest}
    assert {placed.box[:2] for placed in kept} == {(40, 30)}
    without = [
        plan_blend((96, 160), small_cutouts(), "fishyscapes-v3", seed=1, key=str(key)) for key in range(30)
    ]
    assert [plan.objects[0].use for plan in plans] == [plan.objects[0].use for plan in without]
    with refused(fs.errors.OptionError, "all 1 known objects are in forbidden pixels"):
        for key in range(30):
            plan_blend((96, 160), [soft, stands_on_it], "fishyscapes-v3", seed=1, key=str(key), forbidden=ego)


def test_a_known_object_over_an_anomaly_is_0_again_and_over_void_too() -> None:
    cutouts = small_cutouts()
    base = base_frame()
    plan = plan_blend(base.shape[:2], cutouts, "fishyscapes-v2", seed=1, key="a")
    anomaly = replace(plan.objects[0], x=40, y=50)
    known = replace(anomaly, cutout=cutouts[2].digest, use="known", width=40, height=30, flip=False)
    both = replace(plan, objects=(anomaly, known))
    labels = blend(base, both.placed(cutouts), both, np.ones(base.shape[:2], bool)).labels
    assert set(np.unique(labels)) == {0, 1, 255}


def test_fog_lies_on_known_pixels_alone() -> None:
    cutouts, base = small_cutouts(), base_frame()
    plan = plan_blend(base.shape[:2], cutouts, "fishyscapes-v2", seed=1, key="a")
    void = np.zeros(base.shape[:2], bool)
    void[:10] = True
    placed = plan.placed(cutouts)
    clear, foggy = blend(base, placed, plan, void), blend(base, placed, replace(plan, fog=Fog(0.03)), void)
    assert np.array_equal(clear.labels, foggy.labels)
    changed = (clear.image != foggy.image).any(2)
    assert not changed[clear.labels != 0].any()
    assert changed[clear.labels == 0].mean() > 0.9
    assert any(
        plan_blend(base.shape[:2], cutouts, "fishyscapes-v2", seed=1, key=str(k), fog_chance=0.3).fog
        for k in range(20)
    )


def test_objects_reach_over_the_frame_s_border_without_harm() -> None:
    cutouts, base = small_cutouts(), base_frame()
    plan = plan_blend(base.shape[:2], cutouts, "fishyscapes-v2", seed=1, key="a")
    for x, y in ((-20, -10), (140, 80), (-500, 0), (500, 500)):
        moved = replace(plan, objects=(replace(plan.objects[0], x=x, y=y),))
        blended = blend(base, moved.placed(cutouts), moved)
        assert blended.image.shape == base.shape
        assert bool(blended.pixels[0]) == (abs(x) < 200)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"objects_per_frame": 0}, "objects per frame: expected 1 to 20; got 0"),
        (
            {"areas": (0.1, 0.01)},
            "areas: expected two shares of the frame, 0 < least <= largest <= 0.5; got 0.1 and 0.01",
        ),
        ({"horizon": 1.5}, "horizon: expected a share of the frame's height"),
        ({"fog_chance": -0.1}, "fog chance: expected 0 to 1; got -0.1"),
    ],
)
def test_options_out_of_range_are_refused(options: dict[str, object], says: str) -> None:
    with refused(fs.errors.OptionError, says):
        made("a", **options)


def test_an_object_that_nearly_vanishes_or_falls_into_pieces_is_flagged() -> None:
    grey = np.full((96, 160, 3), 120, np.uint8)
    alpha = np.full((40, 40), 255, np.uint8)
    split = alpha.copy()
    split[:, 12:28] = 0
    colour = np.random.default_rng(0).integers(0, 256, (40, 40, 3), dtype=np.uint8)
    box, same = Cutout(colour, alpha, "a box", "box"), Cutout(grey[:40, :40], alpha, "a grey box", "box")
    parts = Cutout(colour, split, "two bars", "box")
    for cutout, expected in ((box, []), (same, ["faint"]), (parts, ["pieces"])):
        plan = plan_blend((96, 160), [cutout], "fishyscapes-v1", seed=0, key="a")
        made = blend(grey, plan.placed([cutout]), plan)
        assert [(flag.object, flag.flag) for flag in made.flags] == [(0, name) for name in expected]
    # each its own: the second covers nothing of the first
    plan = plan_blend((96, 160), [box], "fishyscapes-v1", seed=0, key="a")
    first, second = (replace(plan.objects[0], x=x, cutout=of.digest) for x, of in ((5, box), (90, same)))
    plan = replace(plan, objects=(first, second))
    made = blend(grey, plan.placed([box, same]), plan)
    assert [(flag.object, flag.flag) for flag in made.flags] == [(1, "faint")]
    covered = replace(plan, objects=(second, replace(first, x=90)))
    made = blend(grey, covered.placed([box, same]), covered)
    assert [(flag.object, flag.flag, flag.value) for flag in made.flags] == [(0, "faint", 0.0)]


def test_other_bases_than_the_plan_s_are_refused() -> None:
    cutouts = small_cutouts()
    plan = plan_blend((96, 160), cutouts, "fishyscapes-v1", seed=0, key="a")
    placed = plan.placed(cutouts)
    with refused(fs.errors.ImageError, "the plan is for 160 x 96 pixels, the image has 10 x 10"):
        blend(np.zeros((10, 10, 3), np.uint8), placed, plan)
    with refused(fs.errors.ImageError, r"expected an image \(H, W, 3\) uint8; got float64"):
        blend(np.zeros((96, 160, 3)), placed, plan)
    with refused(fs.errors.ImageError, r"void of the base has shape \(2, 2\)"):
        blend(base_frame(), placed, plan, np.zeros((2, 2), bool))
    with refused(
        fs.errors.OptionError, "fishyscapes-v2 needs anomalies, and none of the 1 cut-outs has that use"
    ):
        plan_blend((96, 160), cutouts[2:], "fishyscapes-v2", seed=0, key="a")


def test_v3_without_cutouts_of_both_uses_is_refused_whatever_the_frame_would_have_got() -> None:
    cutouts = small_cutouts()
    for key in "abcdef":
        with refused(
            fs.errors.OptionError,
            "fishyscapes-v3 needs known objects, and none of the 2 cut-outs has that use",
        ):
            plan_blend((96, 160), cutouts[:2], "fishyscapes-v3", seed=0, key=key)
        with refused(
            fs.errors.OptionError, "fishyscapes-v3 needs anomalies, and none of the 1 cut-outs has that use"
        ):
            plan_blend((96, 160), cutouts[2:], "fishyscapes-v3", seed=0, key=key)


def test_a_compact_object_finds_its_place_in_a_small_frame() -> None:
    square = [Cutout(np.zeros((40, 40, 3), np.uint8), np.full((40, 40), 255, np.uint8), "a box")]
    plans = [plan_blend((24, 32), square, "fishyscapes-v1", seed=0, key=str(k)) for k in range(40)]
    assert min(max(placed.box[2:]) for plan in plans for placed in plan.objects) == 4


def test_a_frame_is_two_whole_numbers_of_any_type_and_large_enough() -> None:
    cutouts = small_cutouts()
    plan = plan_blend((np.int64(96), np.uint16(160)), cutouts, "fishyscapes-v1", seed=0, key="a")
    assert (
        plan_of_text(plan.text()) == plan == plan_blend((96, 160), cutouts, "fishyscapes-v1", seed=0, key="a")
    )
    for frame in ((96, 160, 3), (96.0, 160.0), (0, 160)):
        with refused(
            fs.errors.OptionError, r"frame: expected \(height, width\) in pixels, each 1 or more; got"
        ):
            plan_blend(frame, cutouts, "fishyscapes-v1", seed=0, key="a")
    with refused(
        fs.errors.OptionError, "no place for .* in a frame of 3 x 2: it is too small; give a larger one"
    ):
        plan_blend((2, 3), cutouts, "fishyscapes-v1", seed=0, key="a")


def test_horses_in_real_frames_have_the_frame_s_brightness_and_soft_borders(data: Path) -> None:
    label = next(iter(sorted((data / "camvid" / "testannot").iterdir())))
    base = np.asarray(Image.open(next((data / "camvid" / "test").glob(f"{label.stem}.*"))).convert("RGB"))
    void = np.asarray(Image.open(label)) == 11
    image = next(iter(sorted((data / "objects" / "weizmann_horses" / "images").iterdir())))
    mask = (
        np.asarray(
            Image.open(data / "objects" / "weizmann_horses" / "masks" / f"{image.stem}.png").convert("L")
        )
        > 0
    )
    horse: Cutout = fs.stressors.cutout_of_mask(
        np.asarray(Image.open(image).convert("RGB")), mask, image.stem, "horse"
    )
    plan = plan_blend(base.shape[:2], [horse], "fishyscapes-v2", seed=0, key="a", forbidden=void)
    blended = blend(base, plan.placed([horse]), plan, void)
    on = blended.labels == 1
    assert 0.002 < on.mean() < 0.045
    pasted = fs.stressors.layer_of(horse, base, plan.objects[0].box, flip=plan.objects[0].flip, margin=0)
    inside = pasted.alpha > 2048
    covered, before = pasted.window[inside].mean(), pasted.colour[inside].mean() / 256
    assert abs(blended.image[on].mean() - covered) < 0.6 * abs(before - covered) + 4
