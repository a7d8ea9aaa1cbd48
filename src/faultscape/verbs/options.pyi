# The options of each verb, as their work takes them; written by scripts/verb_options.py from the signatures.

from faultscape.arguments import ClassList, Costs
from faultscape.choices import Goal
from faultscape.verbs.verb import Options

class CompareOptions(Options):
    study: str
    engine: str
    workers: int | None
    shard: str | None

class ScaleOptions(Options):
    masks: tuple[str, ...]
    classes: ClassList
    output: str | None
    pattern: str | None

class PlanOptions(Options):
    study: str
    cost: Costs | None
    wage: float | None
    within: float
    goal: Goal | None
    selection: str | None
    truth: str | None
    seed: int
    engine: str
    workers: int | None

class ReportOptions(Options):
    study: str
    selection: str
    output: str | None
    bands: tuple[float, ...]
    better: float | None
    reference_images: str | None
    thumbnail: int

class ViewOptions(Options):
    study: str
    host: str
    port: int
