"""The columns of a selection's table: those of all rows, and those that a kind of row has besides."""

from __future__ import annotations

from faultscape.results.table import Column

ANY_ROW = (
    Column("image", "text", "id of the image"),
    Column("chosen", "flag", "whether people are asked about it; otherwise it is a spare"),
    Column("round", "count", "1 for the first draw, one more each time the selection was extended"),
    Column("step", "count", "number of the row within its round, or of the draw over all rounds, from 1"),
    Column("place", "count", "its place in its duel or pair, from 1"),
    Column("probability", "number", "chance of drawing it at its step; 1 where nothing is random"),
    Column("pool", "count", "images (of points: pixels) that could have had its place"),
)
ROW_COLUMNS: dict[str, tuple[Column, ...]] = {  # what a kind of row has besides
    "Slot": (
        Column("defender", "text", "the model whose map must contain the class"),
        Column("attacker", "text", "the model that its map is compared with"),
        Column("class", "text", "name of the class; null without constraints"),
        Column("concordance", "number", "agreement of the two maps; low where they differ"),
    ),
    "PairSlot": (
        Column("model_a", "text", "the classifier that comes first in the study"),
        Column("model_b", "text", "the classifier that comes later"),
        Column("label_a", "text", "the class that model_a predicts"),
        Column("label_b", "text", "the class that model_b predicts"),
        Column("distance", "number", "distance of the two classes in the hierarchy"),
        Column("confidence", "number", "the lower probability of the two", "0 to 1"),
    ),
    "Draw": (Column("score", "number", "weight or preference of the selector for the image"),),
    "Point": (
        Column("row", "count", "row of the pixel in the image, from 0 at the top", "pixels"),
        Column("column", "count", "column of the pixel in the image, from 0 at the left", "pixels"),
        Column("pixel", "count", "its number in the map at working size, row by row, from 0"),
        Column("stratum", "count", "group of pixels that it was drawn from; 0 for the whole pool"),
    ),
}
