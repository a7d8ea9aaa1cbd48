"""Corrupted sets: every image of a set with each corruption of a preset at each severity, made when it is
read.

Conventions: the random stream of an image depends on (seed, the key of its parent as in ties, corruption,
severity), so images have the same bytes in any order, process and machine. Labels stay in place, as in
Buchanan et al. 2022, unless `--move-labels` moves them with the pixels; then the set has its own labels, of
one truth, one part per shard, in their original ids.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from faultscape.corpus.stress.files import textures_digest
from faultscape.corpus.stress.recipe_versions import code_of
from faultscape.corpus.stress.recipes import CorruptStep, recipe_of
from faultscape.errors import OptionError
from faultscape.maps import runs
from faultscape.reading.fill import task
from faultscape.reading.study import Study
from faultscape.stressors.catalogue import entry, preset
from faultscape.stressors.corruption import move_labels
from faultscape.stressors.definition import Corruption
from faultscape.study.tables import label_maps
from faultscape.study.tables.corpus import Image
from faultscape.study.tables.label_maps import StoredMap
from faultscape.study.tables.stress_sets import Held, StressSet, labels_folder
from faultscape.verbs.options import StressCorruptOptions
from faultscape.verbs.stress.make_sets import Effect, Ground, Rows, SetRecipe, make_sets, of_effects
from faultscape.verbs.stress.options import severities_of
from faultscape.verbs.stress.own_labels import SetJob, fill_labels, jobs_of
from faultscape.verbs.stress.parents import Base, line_of, set_inputs
from faultscape.verbs.stress.result import Stressed


@dataclass(frozen=True)
class Condition:
    """One corruption at one severity."""

    corruption: Corruption
    name: str
    severity: int
    textures: str = ""
    code: str = ""

    @property
    def word(self) -> str:
        """The name of the condition in rows and sets."""
        return f"{self.corruption.name}-{self.severity}"

    def step(self, parent: Image, seed: int) -> CorruptStep:
        """Return the recipe step for one image."""
        return CorruptStep(self.name, self.severity, seed, parent.key, self.textures, self.code)

    def effect(self, seed: int) -> Effect:
        """Return what is done to each image."""
        return Effect(self.word, partial(self.step, seed=seed), f"{self.corruption.name}/{self.severity}")


def corrupt_images(options: StressCorruptOptions) -> Stressed:
    """Add corrupted sets, and write their images to a folder on request. Errors: OptionError, CorpusError and
    StudyError if that is impossible.
    """
    wanted = conditions_of(options)
    return make_sets(options, "corrupt", lambda ground: _recipe(options, ground, wanted))


def _recipe(options: StressCorruptOptions, ground: Ground, wanted: Sequence[Condition]) -> SetRecipe:
    study = ground.study
    base = ground.base
    if options.move_labels and study.classifies:
        raise OptionError("--move-labels moves label maps, and this is a study of classifiers; leave it out")
    _refuse_corrupted(base, study.stress.sets)
    truth = study.truth(options.truth) if options.move_labels else ""
    conditions = {base.set_name(condition.word): condition for condition in wanted}
    about = {name: _about(study, options, base, condition, truth) for name, condition in conditions.items()}
    effects = {name: condition.effect(options.seed) for name, condition in conditions.items()}
    own = [condition.name for condition in conditions.values() if condition.code and not condition.textures]

    def label(_: Rows) -> None:
        for name in dict.fromkeys(own):
            print(f"reading these images runs the code of {name}; make sure you trust it")
        moved = [name for name, one in about.items() if one.labels == "own"]
        if moved:
            _fill_moved(study, moved, truth, options)
        elif options.move_labels:
            print("note: --move-labels has no effect: no corruption of this line moves pixels")

    return of_effects(options, ground, about, effects, label)


def conditions_of(options: StressCorruptOptions) -> list[Condition]:
    """Return the requested conditions, in the order of the preset; OptionError for unknown names and
    severities.
    """
    asked = severities_of(options.severities) if options.severities else None
    if options.preset and options.corruption:
        raise OptionError("--preset and --corruption both choose corruptions; give one of the two")
    if options.corruption:
        named = [(name, tuple(range(1, 6))) for name in dict.fromkeys(options.corruption)]
    else:
        named = list(preset(options.preset or "hendrycks15").corruptions)
    found: list[Condition] = []
    textures = str(Path(options.frost_textures).absolute()) if options.frost_textures else ""
    held = textures_digest(textures) if textures else ""
    for name, severities in named:
        corruption = entry(name)
        own = textures if corruption.name == "frost" else ""
        word = str(Path(name).absolute()) if ".py:" in name else name
        code = held if own else code_of(word)
        found += [
            Condition(corruption, word, severity, own, code)
            for severity in severities
            if asked is None or severity in asked
        ]
    if textures and not any(condition.textures for condition in found):
        raise OptionError(
            "--frost-textures needs the frost corruption; leave it out, or add --corruption frost"
        )
    return found


def _about(
    study: Study, options: StressCorruptOptions, base: Base, condition: Condition, truth: str
) -> StressSet:
    moves = options.move_labels and condition.corruption.move is not None
    parameters: Held = {
        "corruption": condition.name,
        "severity": condition.severity,
        "seed": options.seed,
        **({"code": condition.code} if condition.code else {}),
        **({"textures": condition.textures} if condition.textures else {}),
        **({"move_labels": True} if moves else {}),
    }
    labels = study.truth_key(truth) if moves else ""
    line = line_of(options, base)
    return StressSet(
        kind="corrupt",
        of=base.name,
        labels="own" if moves else "parents",
        truth=truth if moves else "",
        line=line,
        parameters=parameters,
        inputs=set_inputs(base, labels, parameters),
    )


def _refuse_corrupted(base: Base, known: dict[str, StressSet]) -> None:
    """Raise OptionError for a base that was itself corrupted: no published benchmark corrupts twice, and no
    one needs 75 x 75 sets.
    """
    if base.name in known and known[base.name].kind == "corrupt":
        raise OptionError(
            f"--set {base.name}: is already corrupted; corrupt its base set, {known[base.name].of}"
        )


@dataclass(frozen=True)
class MoveJob(SetJob):
    """The labels of one shard: the parent's label (shard, id) of each image, and how it moves."""

    images: tuple[tuple[str, int, str, CorruptStep], ...]  # id, shard and id of the parent, step


@dataclass(frozen=True)
class MovedPart:
    """The written part of one shard."""

    sha256: str
    rows: int


def _fill_moved(study: Study, sets: Sequence[str], truth: str, options: StressCorruptOptions) -> None:
    """Make the missing or stale labels of sets."""
    fill_labels(
        study,
        "faultscape.verbs.stress.corruption_set:move_shard",
        jobs_of(study, sets, truth, MoveJob, _row),
        MovedPart,
        {"sha256": ""},
        title="move labels",
        engine=options.engine,
        workers=options.workers,
    )


def _row(image: Image, parent: Image) -> tuple[str, int, str, CorruptStep]:
    recipe = recipe_of(image.source)
    assert recipe is not None
    assert isinstance(recipe.step, CorruptStep)
    return image.id, parent.shard, parent.id, recipe.step


@task(MoveJob)
def move_shard(job: MoveJob, tick: Callable[[int], None]) -> MovedPart:
    """Move the labels of one shard, and write them; a pixel from beyond the border shows the mirrored image,
    and has its label.
    """
    root = Path(job.study)
    shards = {shard for _, shard, _, _ in job.images}
    held = {shard: label_maps.read_maps(label_maps.truth(root, job.truth), shard) for shard in sorted(shards)}
    maps = []
    for id_, shard, parent, step in job.images:
        if (code := held[shard].get(parent)) is not None:
            labels = runs.decode(code)
            moved = move_labels(labels, step.name, step.severity, seed=step.seed, key=step.key)
            maps.append(StoredMap(id_, runs.encode(moved)))
        tick(1)
    return MovedPart(label_maps.put_maps(labels_folder(root, job.set), job.number, maps), len(maps))
