"""The closed choices of options, as types: signatures, help texts and checks share one list.

Conventions: light. A room that checks values reads them with ``typing.get_args``; options that also take a
file, or a name of your own (file.py:NAME), are plain text.
"""

from __future__ import annotations

from typing import Literal

Task = Literal["segmentation", "classification"]
Role = Literal["pool", "train", "validation", "test", "reference"]
Goal = Literal["order", "best"]
PointGoal = Literal["order", "best", "values"]  # of points: the last is each model's own score
Question = Literal["order", "best", "failures"]  # which is better, which is best, or where they fail
Population = Literal["pool", "future"]  # what intervals of drawn images are about
Constraints = Literal["none", "class", "class+scale"]
Discrepancy = Literal["top1", "expected"]
CapRule = Literal["accepted", "scanned"]

RegionKind = Literal["connected", "given"]
Connectivity = Literal[8, 4]
VoidRule = Literal["cut", "bridge"]
Absent = Literal["nan", "zero"]
RegionScale = Literal["tanh", "sigmoid", "none"]  # in ROM and RUM
Match = Literal["iou", "dice"]
Per = Literal["truth", "prediction"]
Over = Literal["union", "all", "truth"]  # the classes that a mean is over
Pooling = Literal["pooled", "per_image", "cells"]  # how images are combined
FprRule = Literal["first", "closest"]
Curve = Literal["step", "trapezoid"]
Track = Literal["anomaly", "obstacle"]
Thresholds = Literal["exact", "keras200", "quantiles"]
Rounding = Literal["", "float32", "float16"]
Preset = Literal[
    "fishyscapes",
    "smiyc",
    "smiyc-obstacle",
    "anomaly-seg",
    "pytorch-ood",
    "keras200",
    "torchmetrics",
    "figure3",
    "rom-rum",
    "s0-printed",
]
CardPreset = Literal["bravo-2024", "s3-code"]  # of the reliability card

Unmapped = Literal["void"]
DistanceKind = Literal["wordnet", "path", "hops", "01"]  # between classes

Layout = Literal["nchw", "nhwc"]
Precision = Literal["float32", "float16", "bfloat16"]
ScoreOn = Literal["device", "processor"]
WebApi = Literal["openverse", "flickr", "wikimedia"]
Licence = Literal["open", "commercial", "modification", "public", "any"]

# for networks trained here
HeadName = Literal["linear", "batch-ensemble", "gp", "heteroscedastic", "batch-ensemble+gp"]
LossName = Literal["ce", "void-class", "entropy", "outlier-head", "dirichlet", "uno"]
Smoothing = Literal["each", "shared"]  # of the labels of a prior network
Schedule = Literal["polynomial", "cosine", "constant"]
Optimiser = Literal["adam", "adamw", "sgd"]
ClassWeights = Literal["none", "median-frequency"]
FastStart = Literal["normal", "signs"]
TrainingPresetName = Literal["s3-paper", "s3-code", "s4-bayesian", "camvid-small"]
ExportForm = Literal["onnx", "pt2"]
ImageFiles = Literal["copy", "link", "none"]  # what `export` does with images
Tracker = Literal["mlflow", "wandb", "trackio"]  # of experiments, to which `report` sends its page
MethodPreset = Literal["s4"]
FitMethod = Literal[
    "temperature",
    "odin",
    "standardised-max-logit",
    "mahalanobis",
    "neco",
    "energy-neco",
    "knn",
    "knn-class",
    "flow",
    "residual",
    "reconstruction",
    "resynthesis",
    "perceptual",
    "fusion",
]
