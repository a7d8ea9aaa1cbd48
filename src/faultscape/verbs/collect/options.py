"""The options of `collect` that belong together."""

from __future__ import annotations

from dataclasses import dataclass

from faultscape.arguments import GroupRule, Place, Size
from faultscape.choices import Licence, WebApi


@dataclass(frozen=True)
class WebImages:
    """Images from the web, step by step.

    Parameters
    ----------
    queries
        Write search terms to STUDY/queries.csv: class names, their synonyms, and pairs of classes. Lines that
        you edit, add or strike out stay as you leave them.
    wordnet
        With --queries: a folder of WordNet files (index.noun, data.noun), for synonyms.
    hyponyms
        With --wordnet: also use narrower words, one level down.
    urls
        Download the images in a list to STUDY/web: .txt with one URL per line, or .csv with a column url and
        metadata for each image.
    api
        Search openverse, flickr or wikimedia for the terms in queries.csv, and download to STUDY/web.
    accept
        Collect the images accepted in an accept.csv, which STUDY/web/review.html saves.
    contact
        An e-mail address or web page to send to every server; required by --api.
    rate
        Requests per second to one host (default 1).
    per_query
        With --api: images to review per search term (default 50).
    after
        Only images from this day or later, for example 2024-03-01.
    before
        Only images from before this day.
    min_size
        WIDTHxHEIGHT that an image must have at least.
    transparent
        Only images with transparent parts: cut-out objects.
    licence
        With --api: open (default), commercial, modification, public (public domain) or any.
    """

    queries: bool = False
    wordnet: Place | None = None
    hyponyms: bool = False
    urls: Place | None = None
    api: WebApi | None = None
    accept: Place | None = None
    contact: str | None = None
    rate: float | None = None
    per_query: int | None = None
    after: str | None = None
    before: str | None = None
    min_size: Size | None = None
    transparent: bool = False
    licence: Licence | None = None


@dataclass(frozen=True)
class Grouping:
    """Which images belong together.

    Parameters
    ----------
    group
        Images to draw together in intervals (one drive, sequence, city or patient): a pattern over the ids
        such as "{group}_*", or a .csv file with columns id and group. Applies to the images named here, or to
        all if none are named. In Python also a dict.
    block
        Split each group (from --group, or the existing groups) into runs of about this many consecutive
        images; without groups, split the order of the ids.
    """

    group: GroupRule | None = None
    block: int | None = None

    @property
    def asked(self) -> bool:
        """Whether either option is given."""
        return self.group is not None or self.block is not None


@dataclass(frozen=True)
class Storage:
    """Where results are stored, and how images are sharded and checked.

    Parameters
    ----------
    store
        s3://BUCKET/PREFIX or gs://BUCKET/PREFIX to store predictions, truth, pairs and measures in; fixed
        when the study is created.
    shard_size
        Images per shard; fixed when the study is created (default 1024).
    probe
        Read each image completely and look for near-duplicates; on by default for local files, off for files
        in a store.
    """

    store: str | None = None
    shard_size: int | None = None
    probe: bool | None = None


@dataclass(frozen=True)
class KnownData:
    """A data set in a known layout, with its truth, classes and groups.

    Parameters
    ----------
    layout
        The data set's own layout, by name (cityscapes, ade20k, voc2012, camvid, fs-static, ...), or
        file.py:NAME; the one folder you name is its root. Truth is stored as labels, anomaly and instances.
    split
        The split to collect, as the data set calls it (train, val, ...).
    mixture
        Instead of a layout: a mixture of data sets, a .toml file or fishyscapes-misclassification; each
        becomes a set with role test, its own class mapping and its own sample.
    """

    layout: str | None = None
    split: str | None = None
    mixture: str | None = None

    @property
    def asked(self) -> bool:
        """Whether any option is given."""
        return any(value is not None for value in (self.layout, self.split, self.mixture))
