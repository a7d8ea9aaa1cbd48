"""The contact sheet of objects to blend, on which each cut-out can be switched off.

Conventions: one self-contained HTML file. Objects are sorted by class and digest. The browser holds what is
switched off until a button saves switched-off.csv.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence

import numpy as np
from PIL import Image as Pillow

from faultscape.reporting.template import template
from faultscape.stressors.objects.cutout import Cutout

_LONGEST = 160  # pixels of a thumbnail's longer side


def objects_page(study: str, cutouts: Sequence[Cutout]) -> str:
    """Return the HTML of the contact sheet of some cut-outs."""
    ordered = sorted(cutouts, key=lambda cutout: (cutout.use, cutout.class_, cutout.digest))
    cards = [
        {
            "digest": one.digest,
            "name": one.name,
            "class": one.class_,
            "use": one.use,
            "size": f"{one.alpha.shape[1]} × {one.alpha.shape[0]}",
            "uri": _uri(one),
        }
        for one in ordered
    ]
    return template("review/objects.html.jinja").render(study=study, cards=cards)


def _uri(cutout: Cutout) -> str:
    """Return a thumbnail of a cut-out as a data URI, keeping its transparency."""
    image = Pillow.fromarray(np.dstack([cutout.pixels, cutout.alpha]))
    image.thumbnail((_LONGEST, _LONGEST))
    out = io.BytesIO()
    image.save(out, format="PNG", optimize=True)
    return f"data:image/png;base64,{base64.b64encode(out.getvalue()).decode()}"
