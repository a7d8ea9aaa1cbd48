"""The card of an exported data set: README.md, with the front matter that the Hugging Face Hub reads.

Conventions: no licence is named: that of the images is theirs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from faultscape.errors import counted
from faultscape.verbs.export import tables
from faultscape.verbs.export.contents import Contents
from faultscape.verbs.export.front_matter import yaml_lines

_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))
_MOST_CLASSES = 200  # that the table of classes lists


def card(contents: Contents, split: str) -> str:
    """Return the text of a data set card."""
    return "\n".join([*_front_matter(contents, split), "", *_text(contents), ""])


def _front_matter(contents: Contents, split: str) -> list[str]:
    name = contents.study.root.resolve().name
    size = next((word for most, word in _SIZES if len(contents.images) < most), "n>1M")
    task = "image-classification" if contents.classifies else "image-segmentation"
    files = {"config_name": "default", "data_files": [{"split": split, "path": f"data/{split}-*"}]}
    values = {
        "pretty_name": name,
        "task_categories": [task],
        "size_categories": [size],
        "tags": ["faultscape"],
        "configs": [files],
    }
    return ["---", *yaml_lines(values), "---"]


def _text(contents: Contents) -> Iterator[str]:
    study = contents.study
    of = "all images" if len(contents.images) == study.image_count else "images"
    yield f"# {study.root.resolve().name}"
    yield ""
    yield (
        f"{counted(len(contents.images), 'image')} ({of} of a Faultscape study), with the"
        f" {'answers' if contents.classifies else 'maps'} of {counted(len(contents.models), 'model')}"
        + (f" and the labels `{contents.truth}`." if contents.truth else "; nothing is labelled yet.")
    )
    yield ""
    yield "| column | what it holds |"
    yield "|---|---|"
    for name, says in _columns(contents):
        yield f"| `{name}` | {says} |"
    if any(row.rank is not None for row in contents.ranks):
        yield ""
        yield f"## Models, as selection `{contents.selection}` ranks them"
        yield ""
        yield from _table(tables.model_table(contents).to_pylist())
    classes = contents.about()["classes"]
    yield ""
    yield "## Classes"
    yield ""
    shown = [{"id": k if contents.classifies else c["id"], "name": c["name"]} for k, c in enumerate(classes)]
    yield from _table(shown[:_MOST_CLASSES])
    if len(shown) > _MOST_CLASSES:
        yield f"\n... and {len(shown) - _MOST_CLASSES} more"
    if not contents.classifies:
        yield ""
        yield f"Void: {', '.join(map(str, contents.classes.void))}."


def _columns(contents: Contents) -> Iterator[tuple[str, str]]:
    if contents.image_files != "none":
        yield "image", "the image, as it was collected"
    yield "id", "the image's id in the study: its path without ending"
    yield "set, role, condition, group", "where it belongs; a group is a drive, a patient or a city"
    yield "chosen, why", f"whether and why selection `{contents.selection}` has it"
    yield "disagreement", "0 to 1: 1 minus the mean concordance (mIoU) of every two models on it"
    if contents.classifies:
        yield "class_MODEL, probability_MODEL", "the class that a model names, and how sure it is"
    else:
        yield "map_MODEL", "the model's map: an image of the ids below"
    if contents.truth:
        yield (
            "truth",
            "the classes that it shows" if contents.classifies else "its label: an image of the ids",
        )
        yield f"{contents.metric}_MODEL", "the model's score on it by the label; empty without a label"


def _table(rows: Sequence[dict[str, object]]) -> Iterator[str]:
    names = list(rows[0])
    yield f"| {' | '.join(names)} |"
    yield f"|{'---|' * len(names)}"
    for row in rows:
        yield f"| {' | '.join(_cell(value) for value in row.values())} |"


def _cell(value: object) -> str:
    if value is None:
        return ""
    text = f"{value:.4g}" if isinstance(value, float) else str(value)
    return " ".join(text.replace("|", "\\|").split())
