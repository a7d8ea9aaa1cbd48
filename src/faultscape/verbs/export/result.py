"""What `export` returns: where it wrote, what, and the line that opens it."""

from __future__ import annotations

from dataclasses import dataclass

from faultscape.errors import counted


@dataclass(frozen=True)
class StudyExported:
    """A folder that `export` wrote for another tool."""

    folder: str
    format: str
    images: int  # how many images are in it; 0 for cards of models
    models: tuple[str, ...]  # whose maps or results are in it
    truth: str  # name of the labels in it; '' for none
    image_files: str  # copy, link or none
    size: int  # bytes of all files; a linked image takes none
    opens: str  # the line of Python that opens it

    def __repr__(self) -> str:
        held = [counted(self.images, "image")] if self.images else []
        held += [counted(len(self.models), "model")]
        held += [f"truth {self.truth}"] if self.truth else []
        held += {"copy": [], "link": ["images linked"], "none": ["no image files"]}[
            self.image_files if self.images else "copy"
        ]
        return f"{self.folder}: {', '.join(held)}, {self.size / 1e6:,.1f} MB\nopen it: {self.opens}"
