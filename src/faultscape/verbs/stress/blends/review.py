"""The contact sheet on which a person switches off bad objects that code cannot detect: occluded, torn, or
not an object at all.

Conventions: one file, STUDY/objects/review.html, with a thumbnail of every object; the page saves
switched-off.csv, with a column `object` of digests.
"""

from __future__ import annotations

from pathlib import Path

from faultscape.reporting.objects_page import objects_page
from faultscape.study.folder import put
from faultscape.verbs.stress.blends.objects import FOLDER, Objects


def write_review(root: Path, objects: Objects) -> tuple[str, int]:
    """Write the contact sheet, and return its path and how many objects are on it."""
    page = root / FOLDER / "review.html"
    put(page, objects_page(root.resolve().name, objects.cutouts).encode("utf-8", "xmlcharrefreplace"))
    return str(page), len(objects.cutouts)
