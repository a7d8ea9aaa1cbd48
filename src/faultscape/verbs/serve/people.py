"""The people who answer questions about a study: invite them, give them new links, forget them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from faultscape.errors import LabellingError
from faultscape.reading.study import opened
from faultscape.study.answers.annotators import ANNOTATOR, ORGANISER, Annotators
from faultscape.study.answers.withdrawal import take_back_all
from faultscape.study.tables.logs import log
from faultscape.verbs.label.result import Forgotten, Invited

if TYPE_CHECKING:
    from faultscape.verbs.options import LabelForgetOptions, LabelInviteOptions

LONGEST_NAME = 80


def invite_person(options: LabelInviteOptions) -> Invited:
    """Return a new annotator and the token of their link, or a new token for an existing annotator;
    LabellingError for an invalid name.
    """
    study = opened(options.study)
    name = " ".join(options.name.split())
    organiser = options.organiser
    if not 0 < len(name) <= LONGEST_NAME:
        raise LabellingError(f"a name must have 1 to {LONGEST_NAME} characters")
    with study.writing():
        people = Annotators(study.root, study.database)
        known = next((one for one in people.everybody() if one.name == name), None)
        if known is not None:
            token = people.new_token(known.pseudonym, ORGANISER if organiser else known.role)
            return Invited(name, known.pseudonym, token, again=True)
        made, token = people.invite(name, ORGANISER if organiser else ANNOTATOR)
        log(study.root, "label invite", pseudonym=made.pseudonym)
    return Invited(name, made.pseudonym, token)


def forget_person(options: LabelForgetOptions) -> Forgotten:
    """Forget who a person is, and take back their answers on request; LabellingError if there is no such
    person.
    """
    study = opened(options.study)
    with study.writing():
        people = Annotators(study.root, study.database)
        found = people.find(options.name)
        back = take_back_all(study.database, found.pseudonym, "label forget") if options.answers else None
        people.delete(found.pseudonym)
        log(study.root, "label forget", pseudonym=found.pseudonym)
    return Forgotten(found.pseudonym, back)
