"""export: write a study's images, maps, labels and results for other tools."""

from __future__ import annotations

from faultscape.arguments import Place
from faultscape.choices import ImageFiles
from faultscape.verbs.export.result import StudyExported
from faultscape.verbs.verb import verb


@verb("faultscape.verbs.export.work:export_study")
def export(
    study: Place,
    out: Place,
    *,
    format: str = "parquet",
    selection: str = "main",
    all_images: bool = False,
    truth: str | None = None,
    image_files: ImageFiles | None = None,
) -> StudyExported:
    """Write the chosen images of a study with every model's maps, the labels, disagreement, scores and ranks
    to a folder that another tool opens. The study is not changed.

    parquet: a table with a row an image, and maps as PNG. hf: a folder that `datasets.load_dataset` reads.
    coco: masks as run lengths and COCO panoptic, of the labels and of each model. fiftyone: a
    FiftyOneDataset. model-card: a README.md for each model, with what `measure` and `reliability` found.
    croissant: the tables of parquet, and a file that describes them. every-eval-ever: a file of results for
    each model. The folder can be moved: paths in its files are relative. It appears only when it is complete.

    Parameters
    ----------
    study
        The study folder.
    out
        The folder to write; it must be new or empty, and outside the study.
    format
        One of parquet, hf, coco, fiftyone, model-card, croissant, every-eval-ever.
    selection
        The selection whose images are written, and whose ranks; main stands for the only one too.
    all_images
        Write all images of the study, not only the chosen ones.
    truth
        The labels to write; default: labels, or the only ones.
    image_files
        copy (the default: the bytes that were collected), link (hard links, which take no space; the folder
        must be on the same disk), or none.

    >>> fs.export("study", "tables/").images
    12
    """
    ...
