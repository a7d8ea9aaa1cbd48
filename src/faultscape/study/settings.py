"""study.toml: what the study is about - classes, working size, shards, models and their label mapping.

Conventions: written by ``collect`` and ``predict``, meant to be read and edited by people; comments survive.
``size`` is ``own`` (each image keeps its size) or ``WIDTHxHEIGHT``. ``cells`` is ``full`` or ``diagonal``
(intersections and marginals only, for many models). ``models.NAME.labels`` maps the model's own label numbers
to class names, or to ``void``. ``synonyms`` maps class names to other words for them, which are used as
search terms and change no result. In a study of classifiers (``task`` is ``classification``) classes have no
colours but may have ``wnids``, their WordNet synsets; ``only`` names the classes that the study asks about,
and ``glosses`` explain in words what a class is. ``own_order`` means that a list gave the images in an order
other than numeric order, so that rows without names are refused. ``classes.first_names`` are the names of
classes when maps were first counted, if they were renamed since. ``tags`` are kinds of failure with the key
that gives each. ``truths.NAME.labels`` maps the values of imported masks, as a model's labels are mapped;
none for ids of the class list. ``answers`` is where people's answers are stored, if not in the study.
``version`` is the form of the study's files; another is refused. ``store`` is where the parts are stored
(``s3://BUCKET/PREFIX``); empty: in the study.
"""

from __future__ import annotations

import os
import re
import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal, TypedDict

import pydantic
import tomlkit

from faultscape import __version__
from faultscape.errors import ClassesError, StudyError, closest
from faultscape.nouns import Classes, JsonObject
from faultscape.study.folder import no_study, put
from faultscape.study.part_folders import remember_store

VERSION = 3  # of studies made by this Faultscape; no other is read
Task = Literal["segmentation", "classification"]
CLASSIFICATION = "classification"
MEMORY = "memory:"  # begins the SOURCE of a model that only Python could give
Id = Annotated[int, pydantic.Field(ge=0, le=65535)]  # of a class: label maps have 16 bits
_WHEN_THERE = ("only", "glosses", "own_order", "tags", "truths")  # omitted from the file if empty


# strict types: no number in the file is converted
AS_WRITTEN = pydantic.GetPydanticSchema(lambda _, schema_of: schema_of(dict[str, Any]))


class ModelOptions(TypedDict, total=False):
    """The options of a model, as study.toml holds them: those of `predict` for NAME, of which each kind of
    source uses some.

    ``device``, ``task``, ``layers``, ``channels`` and ``counted`` are added when a network is opened, and are
    not in the file.
    """

    labels: str | dict[str, str]  # given, or of a table the mapping of its own
    pattern: str
    resize_maps: bool
    size: str
    mean: list[float]
    std: list[float]
    multiple: int
    layout: str
    batch: int
    threads: int
    precision: str
    score_on: str
    window: str
    stride: str
    flip: bool
    scales: list[float]
    crop: float
    unmapped: str
    keep: list[str]
    scorer: list[str]
    offsets: dict[str, float]  # of scorers without bounds, recorded by the first run
    revision: str
    temperature: list[float]  # fitted: logits are divided by it, or each class's by its own
    seed: int  # of a submission: the seed of the order in which it sees images
    ood_data: str  # declared: the unknown objects that it was trained with, `none` for none
    publication: str  # declared: where it is described
    claims: list[str]  # declared: SET:AP:FPR95
    program: (
        str  # of a submission, recorded: a digest of its files, by whose first scores these are counted ...
    )
    between: list[float]  # ... as lying between these ends, where they have no offset
    hidden: list[str]  # of a submission, recorded: what it could not access
    open: list[str]  # ... and what it could
    device: str
    task: str
    layers: list[str]
    channels: list[int]  # how many a network may have: those of its labels, those of the study
    counted: bool


class ModelSettings(pydantic.BaseModel):
    """How one model's maps came into the study and what its own labels mean."""

    model_config = pydantic.ConfigDict(extra="forbid")
    source: str
    kind: str  # one of prediction.catalogue
    labels: dict[str, str] = {}
    options: Annotated[ModelOptions, AS_WRITTEN] = {}

    @property
    def was_in_memory(self) -> bool:
        """Whether it was given as arrays, a function or a module, which no command can give again."""
        return self.source.startswith(MEMORY)


class TruthSettings(pydantic.BaseModel):
    """How the masks of one truth were read, so that later ones are read alike."""

    model_config = pydantic.ConfigDict(extra="forbid")
    labels: dict[str, str] = {}  # {value in the files: class or void}; empty: ids of the class list


class ClassSettings(pydantic.BaseModel):
    """The class list as stored in study.toml."""

    model_config = pydantic.ConfigDict(extra="forbid")
    names: list[str]
    ids: list[Id]
    colours: list[str] = []
    wnids: list[str] = []
    void: list[Id] = []
    background: Id | None = None
    parents: dict[str, list[str]] = {}
    first_names: list[str] = []  # the names used by counts, if classes were renamed since

    @property
    def counted(self) -> JsonObject:
        """What counts of label maps depend on: neither colours, nor groups, nor the current names of renamed
        classes.
        """
        about = self.model_dump(exclude={"colours", "parents", "wnids", "first_names"})
        return about | {"names": self.first_names or self.names}

    @property
    def first_name_of(self) -> dict[str, str]:
        """{current name of a class: its name when answers and counts of it were first made}."""
        return dict(zip(self.names, self.first_names or self.names, strict=True))

    @property
    def counted_parents(self) -> dict[str, list[str]]:
        """The groups of classes, their members by the first names of renamed classes."""
        first = self.first_name_of
        return {group: [first.get(name, name) for name in members] for group, members in self.parents.items()}


class AnswerSettings(pydantic.BaseModel):
    """Where answers are stored outside of the study: the address of a server's database, without a password,
    and the study that they belong to.
    """

    model_config = pydantic.ConfigDict(extra="forbid")
    url: str = ""
    key: str = ""


class Settings(pydantic.BaseModel):
    """Everything in study.toml."""

    model_config = pydantic.ConfigDict(extra="forbid")
    version: int = VERSION
    task: Task = "segmentation"
    size: str = "own"
    shard: int = pydantic.Field(1024, ge=1)
    cells: Literal["full", "diagonal"] = "full"
    store: str = ""
    classes: ClassSettings
    only: list[str] = []
    own_order: bool = False
    synonyms: dict[str, list[str]] = {}
    glosses: dict[str, str] = {}
    tags: dict[str, str] = {}
    answers: AnswerSettings = AnswerSettings()
    truths: dict[str, TruthSettings] = {}  # those whose labels were imported as masks
    models: dict[str, ModelSettings] = {}

    @property
    def classifies(self) -> bool:
        """Whether models give an image one class, rather than each of its pixels."""
        return self.task == CLASSIFICATION

    @property
    def working_size(self) -> tuple[int, int] | None:
        """(width, height) at which maps are compared, or None if each image keeps its own size."""
        return parse_size(self.size)

    @property
    def class_list(self) -> Classes:
        """The classes as the rooms take them."""
        c = self.classes
        colours = tuple((int(h[1:3], 16), int(h[3:5], 16), int(h[5:7], 16)) for h in c.colours)
        parents = {name: tuple(members) for name, members in c.parents.items()}
        synonyms = {name: tuple(words) for name, words in self.synonyms.items() if name in c.names}
        return Classes(
            tuple(c.names),
            tuple(c.ids),
            colours,
            tuple(c.void),
            c.background,
            parents,
            synonyms,
            tuple(c.wnids),
            dict(self.glosses),
        )


def _check_version(root: Path, version: object) -> None:
    """StudyError for a study of an earlier or later version than this Faultscape writes, or of none."""
    if type(version) is int and version == VERSION:
        return
    if type(version) is int and version > VERSION:
        raise StudyError(
            f"{root} is a study of version {version}; this Faultscape ({__version__}) reads version"
            f" {VERSION}: install a later one (pip install --upgrade faultscape)"
        )
    given = "it has no version" if version is None else f"its version is {version!r}"
    raise StudyError(
        f"{root / 'study.toml'}: {given}; this Faultscape ({__version__}) reads version {VERSION}: collect"
        " the images again into a new study (faultscape collect NEW IMAGES)"
    )


def parse_size(text: str) -> tuple[int, int] | None:
    """Return (width, height) of ``WIDTHxHEIGHT``, or None for ``own``; StudyError otherwise.

    >>> parse_size("512x384"), parse_size("own")
    ((512, 384), None)
    """
    if text == "own":
        return None
    match = re.fullmatch(r"([1-9]\d{0,4})[xX×]([1-9]\d{0,4})", text.strip())
    if not match:
        raise StudyError(f"size {text!r} is invalid; expected WIDTHxHEIGHT, for example 512x512, or own")
    return int(match[1]), int(match[2])


def class_settings(classes: Classes, task: str = "segmentation") -> ClassSettings:
    """Return the class list in the form of study.toml, without colours for classification."""
    return ClassSettings(
        names=list(classes.names),
        ids=list(classes.ids),
        colours=[] if task == CLASSIFICATION else [f"#{r:02x}{g:02x}{b:02x}" for r, g, b in classes.colours],
        wnids=list(classes.wnids) if task == CLASSIFICATION else [],
        void=list(classes.void),
        background=classes.background,
        parents={name: list(members) for name, members in classes.parents.items()},
    )


def synonym_settings(classes: Classes) -> dict[str, list[str]]:
    """Return the synonyms of classes in the form of study.toml."""
    return {name: list(words) for name, words in classes.synonyms.items()}


def gloss_settings(classes: Classes, task: str) -> dict[str, str]:
    """Return the glosses of classes in the form of study.toml, without those that come with a WordNet id."""
    return dict(classes.glosses) if task == CLASSIFICATION and not classes.wnids else {}


def read_settings(root: Path) -> Settings:
    """Return the settings of a study; StudyError names the wrong line of study.toml."""
    path = root / "study.toml"
    try:
        about = path.stat()
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
        # before keys of another version are reported as unknown
        _check_version(root, raw.get("version"))
        settings = Settings.model_validate(raw)
    except FileNotFoundError:
        raise no_study(root) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise StudyError(f"{path} is not TOML: {error}") from None
    except pydantic.ValidationError as error:
        first = error.errors()[0]
        raise StudyError(f"{path}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from None
    remember_store(path, about, settings.store)
    settings.working_size  # noqa: B018 - a wrong size is said now
    c = settings.classes
    coloured = len(c.colours) == len(c.names) or (settings.classifies and not c.colours)
    if (
        not len(c.names) == len(c.ids)
        or not coloured
        or len(set(c.ids)) < len(c.ids)
        or len(set(c.names)) < len(c.names)
    ):
        raise ClassesError(f"{path}: classes need as many names, ids and colours, without duplicates")
    if c.first_names and len(c.first_names) != len(c.names):
        raise ClassesError(f"{path}: first_names are as many as names, or none")
    if c.wnids and len(set(c.wnids)) != len(c.names):
        raise ClassesError(f"{path}: classes need as many wnids as names, without duplicates, or none")
    if lost := [name for name in settings.only if name not in c.names]:
        raise ClassesError(
            f"{path}: only names {lost[0]!r}, which is not a class.{closest(lost[0], c.names)}"
        )
    if not all(re.fullmatch(r"#[0-9a-fA-F]{6}", colour) for colour in c.colours):
        raise ClassesError(f"{path}: a colour is written #rrggbb")
    if len({colour.lower() for colour in c.colours}) < len(c.colours):
        raise ClassesError(f"{path}: two classes have one colour; give each its own")
    return settings


def write_settings(root: Path, settings: Settings) -> None:
    """Write study.toml; comments and order of an existing file are kept."""
    path = root / "study.toml"
    document = tomlkit.parse(path.read_text(encoding="utf-8")) if path.exists() else tomlkit.document()
    if not path.exists():
        document.add(
            tomlkit.comment(
                "A Faultscape study. Edit, then run the same lines again: whatever becomes stale is"
                " recomputed."
            )
        )
    wanted: dict[str, Any] = settings.model_dump(exclude_none=True, exclude_defaults=False)
    wanted = {key: value for key, value in wanted.items() if value or key not in _WHEN_THERE}
    wanted["version"] = VERSION
    if not settings.answers.url:
        del wanted["answers"]
    for key in ("wnids", "first_names"):
        if not wanted["classes"][key]:
            del wanted["classes"][key]
    if settings.classifies:
        del wanted["classes"]["colours"]
    _merge(document, wanted)
    if settings.models and list(document["models"]) != list(settings.models):
        _arrange(document, {name: name for name in settings.models})
    put(path, tomlkit.dumps(document).encode())


def add_models(root: Path, models: dict[str, ModelSettings]) -> None:
    """Enter models in study.toml as it is now, including what others wrote since it was read."""
    settings = read_settings(root)
    settings.models |= models
    write_settings(root, settings)


def keep_reading(root: Path, settings: Settings, truth: str, labels: dict[str, str]) -> None:
    """Enter how the masks of a truth are read in study.toml, unless the ``settings`` say so."""
    now = TruthSettings(labels=labels)
    if settings.truths.get(truth) != now:
        write_settings(root, settings.model_copy(update={"truths": {**settings.truths, truth: now}}))


def change_models(root: Path, names: dict[str, str]) -> None:
    """Keep only the models that are keys of ``names`` in study.toml, each under its new name in its old
    place; if this is already so, nothing is written.
    """
    if list(read_settings(root).models) == list(names.values()):
        return
    path = root / "study.toml"
    document = tomlkit.parse(path.read_text(encoding="utf-8"))
    _arrange(document, names)
    for about in document["models"].values():
        if about["kind"] == "ensemble":  # an ensemble names its members
            kind, _, members = str(about["source"]).partition(":")
            about["source"] = f"{kind}:{','.join(names[member] for member in members.split(','))}"
    for before, after in names.items():  # networks trained here are stored under their names
        was, now = (os.path.abspath(root / "models" / name) for name in (before, after))
        source = str(document["models"][after]["source"])
        if before != after and (source == was or source.startswith(f"{was}/")):
            document["models"][after]["source"] = now + source.removeprefix(was)
    put(path, tomlkit.dumps(document).encode())


def _arrange(document: Any, names: dict[str, str]) -> None:
    """Give the models of a document the order of ``names`` {before: after} and these names, with their
    comments.
    """
    held = [(after, document["models"][before]) for before, after in names.items()]
    del document["models"]
    models = tomlkit.table(is_super_table=bool(held))
    for after, about in held:
        models.append(after, about)
    document.append("models", models)


def _merge(target: Any, wanted: dict[str, Any]) -> None:
    """Make a TOML table hold the wanted values, changing only what differs."""
    for key in [key for key in target if key not in wanted]:
        del target[key]
    for key, value in wanted.items():
        if isinstance(value, dict) and key in target and isinstance(target[key], dict):
            _merge(target[key], value)
        elif key not in target or target[key] != value:
            target[key] = value
