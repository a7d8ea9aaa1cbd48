"""What `label export` and `label consensus` print: 80 columns, no zeros or defaults, the next line whole."""

from __future__ import annotations

import pytest

from faultscape.labelling.catalogue import FORMATS, Format, find_format
from faultscape.terminal_lines import wrapped
from faultscape.verbs.label.crowd.result import Consensus, SessionsExported
from faultscape.verbs.label.mask_export import steps_of
from faultscape.verbs.label.result import Asked, Exported, returned_to, steps_text

THEN = "faultscape label import a-study-with-a-rather-long-name to-label --truth second-annotator"


def test_an_export_names_what_to_do_and_the_whole_line_that_follows() -> None:
    says = steps_text(find_format("png", "segmentation").says, "to-label", "")
    assert repr(Exported("to-label", 10, "png", "", 0, THEN, says)).splitlines() == [
        "10 images to label in to-label (png)",
        "next: put each mask into to-label/labels, named as its image, then run",
        f"  {THEN}",
    ]


@pytest.mark.parametrize(
    ("name", "upload"), [("cvat", "upload annotations.xml"), ("cvat-masks", "upload cvat-masks.zip")]
)
def test_only_maps_that_a_model_filled_in_are_uploaded_to_cvat(name: str, upload: str) -> None:
    form = find_format(name, "segmentation")
    assert form.kind == "bundle"
    assert "upload" not in steps_of(form, None)
    assert upload in steps_of(form, "unet")


TOOLS = [one for one in FORMATS if one.kind == "bundle"]


@pytest.mark.parametrize("form", TOOLS, ids=lambda form: form.name)
def test_what_a_tool_exports_is_imported_and_not_the_file_that_nobody_edited(
    form: Format,
) -> None:
    back = returned_to("to-label/", form.returned)
    assert back != "to-label/"
    for says in (form.says, form.says_prefilled):
        steps = steps_text(says, "to-label/", form.returned)
        assert not says or steps.endswith(f" to {back}")
        assert "OUT" not in steps
        assert "{" not in steps


def test_formats_without_other_steps_say_the_same_with_prefill() -> None:
    form = find_format("label-studio", "segmentation")
    assert form.kind == "bundle"
    assert steps_of(form, "unet") == steps_of(form, None) == form.says


@pytest.mark.parametrize(
    "made",
    [
        Exported(
            "to-label", 240, "labelme", "segformer-b5-cityscapes", 60, THEN, differing=(1200, 9 * 10**6)
        ),
        Asked("questions.csv", 300, 100, 20, undecided=4, then=THEN),
        SessionsExported("out", (("ann", 8, 3), ("ben", 8, 3)), 12, 2, 2, "png", then=THEN, says="draw"),
        Consensus("labels", ("labels-ann", "labels-ben", "labels-eve"), 30, 4, 5, 0, (), ()),
    ],
    ids=lambda made: type(made).__name__,
)
def test_only_the_line_to_paste_is_longer_than_80_columns(made: object) -> None:
    assert [line for line in repr(made).splitlines() if len(line) > 80 and line != f"  {THEN}"] == []


def test_zeros_and_defaults_are_not_printed() -> None:
    alone = SessionsExported("out", (("ann", 8, 3),), 8, 1, 0, "png", then=THEN, says="draw")
    for made in (alone, Exported("out", 8, "png", "", 0, THEN, differing=(0, 100))):
        assert not {"0", "1", "everyone", "differ"} & set(repr(made).split())


def test_a_command_in_backticks_is_never_broken() -> None:
    command = "`faultscape collect study --group PATTERN`"
    for lead in range(80):
        lines = wrapped(f"{'x' * lead} {command} or not")
        assert sum(command in line for line in lines) == 1
        assert all(len(line) <= 80 for line in lines)
