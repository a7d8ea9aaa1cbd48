"""Issues from a tool's review, which become checks of the second round (Yan et al. 2021)."""

from __future__ import annotations

import hashlib
from pathlib import Path

from faultscape.corpus.image_names import ids_meant
from faultscape.errors import LabellingError
from faultscape.formats.label_tools import cvat_issues
from faultscape.study.answers.checks import COMMENT, RESOLVED, Checks
from faultscape.study.lock import writing
from faultscape.study.tables.corpus import read_corpus
from faultscape.study.tables.logs import Failure, log_import, read_failures, replace_failures
from faultscape.verbs.label.options import ImportOptions
from faultscape.verbs.label.result import ChecksTaken

_STAGE = "checks"


def import_(root: Path, options: ImportOptions, file: Path) -> ChecksTaken:
    """Import the issues of a file as checks of the masks of a truth; issues about images that the study does
    not have become rows of failures.csv. LabellingError if none can be used.
    """
    issues = cvat_issues.read_issues(file)
    with writing(root):
        checks, ids = Checks(root), {image.id for image in read_corpus(root)}
        meant, new = ids_meant([one.image for one in issues], ids), 0
        failures = []
        for one in issues:
            image = meant[one.image]
            if image not in ids:
                what = (
                    f"{one.image[:80]!r} is not an image of the study"
                    if one.image
                    else f"frame {one.frame} has no name; also save the job's data/meta"
                )
                failures.append(Failure(_STAGE, options.truth, one.image, f"{one.where}: {what}"))
                continue
            first, *rest = one.messages or (cvat_issues.Message("", "", ""),)
            key = hashlib.blake2b(
                f"{options.truth}\n{image}\n{one.frame}\n{one.x}\n{one.y}\n{first.author}\n{first.created}".encode(),
                digest_size=12,
            ).hexdigest()
            new += checks.open(
                options.truth,
                image,
                "other",
                first.text,
                first.author or "somebody",
                at=(one.x, one.y),
                source=options.source,
                key=key,
            )
            found = next(check for check in checks.checks(options.truth) if check.key == key)
            for place, message in enumerate(rest, 1):
                checks.answer(
                    found,
                    COMMENT,
                    message.text,
                    message.author or "somebody",
                    source=options.source,
                    key=f"{key}-{place}",
                )
            if one.resolved and not found.resolved:
                checks.answer(
                    found,
                    RESOLVED,
                    "",
                    first.author or "somebody",
                    source=options.source,
                    key=f"{key}-resolved",
                )
        replace_failures(
            root,
            _STAGE,
            options.truth,
            [f for f in read_failures(root) if (f.stage, f.name) != (_STAGE, options.truth)] + failures,
        )
        if len(failures) == len(issues):
            raise LabellingError(
                f"{file}: no issue could be used;"
                f" {f'the first: {failures[0].reason}' if failures else 'the file has none'}"
            )
        log_import(root, options.source, truth=options.truth)
    unresolved = sum(not one.resolved for one in checks.checks(options.truth))
    return ChecksTaken(options.truth, new, unresolved, len(failures))
