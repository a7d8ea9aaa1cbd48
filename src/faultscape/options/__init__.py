"""Groups of options: the dataclasses in which verbs take options that belong together."""

from __future__ import annotations

from faultscape.lazy_names import unknown_name
from faultscape.verbs.collect.options import Grouping, KnownData, Storage, WebImages
from faultscape.verbs.fit.options import FitData, MethodOptions
from faultscape.verbs.label.options import SessionRules
from faultscape.verbs.measure.options import Definitions, FileRules, ScoreFolders, StudyPart
from faultscape.verbs.predict.options import Hardware, PredictPart, Scoring, Shown
from faultscape.verbs.rank.options import Looks, NearMisses, OtherStudies, VoteRules
from faultscape.verbs.reliability.signature import Submission
from faultscape.verbs.select.options import ClassifierRules, MapRules, Printing, Sampling
from faultscape.verbs.serve.options import CampaignRules
from faultscape.verbs.stress.options import Blending
from faultscape.verbs.train.options import TrainingData, TrainingMachine, TrainingPlan

__all__ = [
    "Blending",
    "CampaignRules",
    "ClassifierRules",
    "Definitions",
    "FileRules",
    "FitData",
    "Grouping",
    "Hardware",
    "KnownData",
    "Looks",
    "MapRules",
    "MethodOptions",
    "NearMisses",
    "OtherStudies",
    "PredictPart",
    "Printing",
    "Sampling",
    "ScoreFolders",
    "Scoring",
    "SessionRules",
    "Shown",
    "Storage",
    "StudyPart",
    "Submission",
    "TrainingData",
    "TrainingMachine",
    "TrainingPlan",
    "VoteRules",
    "WebImages",
]


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> object:
    raise AttributeError(unknown_name(__name__, name, __all__), name=name)
