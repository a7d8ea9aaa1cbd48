"""Zhang et al. 2021, "Rethinking semantic segmentation evaluation for explainability and model selection",
top to bottom, as a sequence of verbs and functions.

Conventions: TRUTH is a folder of true maps, models are {name: folder of maps}, CONFIDENCE {name: folder of
the winning probability} for models that have it. Run as ``python -m faultscape.recipes.over_under TRUTH
CLASSES NAME=MAPS ... [confidence:NAME=FOLDER ...]``, or with one TOML list for all of Table I.
Source: Zhang et al. 2021.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, cast

import numpy as np

import faultscape as fs
from faultscape.reporting.measure.gap_sentences import sentence
from faultscape.verbs.measure import Measured

if TYPE_CHECKING:
    from faultscape.reporting.measure.document import SetDocument

# its rows, all shown as errors
TABLE_1 = ("miou", "dice", "pixel_accuracy", "gce", "pe_os", "pe_us", "ap", "rom", "rum")


def equations(
    truth: np.ndarray, prediction: np.ndarray, classes: Any, **options: Any
) -> dict[str, np.ndarray]:
    """Return every term of eq. 5 to 10 for each class of one image, in the notation of Zhang et al. 2021."""
    found = fs.metrics.regions(truth, prediction, classes, **options)
    signs = {
        "N": "truth_regions", "M": "predicted_regions",
        "G_O": "torn_truth", "S_O": "tearing_predictions", "m_o": "extra_pieces",
        "G_U": "merged_truth", "S_U": "merging_predictions", "m_u": "extra_merges",
    }  # fmt: skip
    terms = {sign: found.counts[name][0] for sign, name in signs.items()}
    return terms | {name.upper(): found.per_image[name][0] for name in ("ror", "rom", "rur", "rum")}


def table_1(
    truth: str,
    classes: str,
    models: dict[str, str],
    confidence: dict[str, str] | None = None,
    *,
    output: str = "over-under",
) -> Measured:
    """Do section V: measure every model with every metric of Table I, with intervals; draw Figs. 5 and 7;
    write the report.
    """
    return fs.measure(
        truth, models, classes=classes, scores=fs.options.ScoreFolders(confidence=confidence), output=output
    )


def several_tables(datasets: str, *, output: str = "over-under") -> Measured:
    """Do Table I (a), (b) and (c): several data sets, each with its own models, in one table."""
    return fs.measure(datasets=datasets, output=output)


def rows_of_table_1(models: dict[str, Any]) -> list[tuple[str, dict[str, float]]]:
    """Return the rows of Table I: (metric, {model: error}); 0 is best everywhere."""
    rows = []
    for metric in TABLE_1:
        entries = {
            name: found[metric]
            for name, found in models.items()
            if metric in found and found[metric]["value"] is not None
        }
        rows.append(
            (
                metric,
                {
                    name: 1 - e["value"] if e["better"] == "high" else e["value"]
                    for name, e in entries.items()
                },
            )
        )
    return rows


def explained(document: SetDocument, model: str) -> str:
    """Return the conclusion from Table I: the sentence that says where a model's error comes from (V, "the
    source of performance discrepancy").
    """
    return sentence(document, model)


def areas(document: SetDocument) -> dict[str, float]:
    """Return the area under each model's ROM-RUM curve (Fig. 5, right); smaller is better."""
    curves = document.get("curves", {})
    return {
        name: cast("dict[str, float]", found["confidence"])["area"]
        for name, found in curves.items()
        if "confidence" in found
    }


def shown(name: str, document: SetDocument) -> str:
    """Return Table I of one data set, its explanations, and the areas of Fig. 5, as text."""
    models = list(document["models"])
    lines = [name, f"{'':<16}" + "".join(f"{model:>14}" for model in models)]
    for metric, row in rows_of_table_1(document["models"]):
        lines.append(
            f"{metric:<16}"
            + "".join(f"{row[model]:>14.2f}" if model in row else f"{'-':>14}" for model in models)
        )
    lines += [said for model in models if (said := explained(document, model))]
    lines += [
        f"{model}: area under the ROM-RUM curve {area:.4f}"
        for model, area in areas(document).items()
        if area is not None
    ]
    return "\n".join(lines)


def main(words: list[str]) -> None:
    """Run the recipe from the command line."""
    if not words or (len(words) > 1 and len(words) < 3):
        sys.exit(
            "usage: python -m faultscape.recipes.over_under TRUTH CLASSES NAME=MAPS ..."
            " [confidence:NAME=FOLDER ...], or LIST.toml"
        )
    if len(words) == 1:
        measured = several_tables(words[0])
    else:
        named = dict(word.split("=", 1) for word in words[2:])
        sure = {
            name.removeprefix("confidence:"): folder
            for name, folder in named.items()
            if name.startswith("confidence:")
        }
        measured = table_1(
            words[0], words[1], {name: folder for name, folder in named.items() if ":" not in name}, sure
        )
    sets = measured.document.get("datasets") or {"": measured.document}
    print("\n\n".join(shown(name, document) for name, document in sets.items()))
    print(f"{measured.path}/report.html")


if __name__ == "__main__":
    main(sys.argv[1:])
