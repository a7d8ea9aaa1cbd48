"""What a format of `export` is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from faultscape.choices import ImageFiles
from faultscape.verbs.export.contents import Contents


@dataclass(frozen=True)
class ExportFormat:
    """A format of `export`: ``write`` fills an empty folder; ``opens`` is the line of Python that opens the
    folder, with ``{out}`` for its name as Python writes it, ``{first}`` for the labels' folder in it, or
    without labels that of the first model, and ``{model}`` for the first model.
    """

    name: str
    title: str  # what it is, for the table of formats
    write: Callable[[Path, Contents], None]
    opens: str
    tasks: tuple[str, ...] = ("segmentation", "classification")
    image_files: tuple[ImageFiles, ...] = ("copy", "link", "none")  # the default first
    no_ways: str = ""  # why it lacks one of these ways
    of_images: bool = True  # whether it holds images; else it is about all that the study measured
