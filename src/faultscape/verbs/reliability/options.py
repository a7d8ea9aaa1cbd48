"""The options of `reliability` that belong together."""

from __future__ import annotations

from dataclasses import dataclass

from faultscape.errors import OptionError

_COMMAND = "exec:"


@dataclass(frozen=True)
class Submission:
    """A program that is evaluated without seeing the truth.

    Parameters
    ----------
    submission
        exec:COMMAND, a program that reads NUMBER.png from one folder and writes NUMBER_anomaly.npy and
        NUMBER_segmentation.npy to another: {input} and {output} in the command, or its last two words.
    submission_name
        Its name in the study (default: submission).
    ood_data
        The unknown objects it was trained with, as its authors declare, or none.
    publication
        Where it is described, a URL.
    claims
        SET:AP:FPR95, as its authors measured on a set; an error if it differs by more than .01 from what is
        measured here. Repeat it for more.
    """

    submission: str | None = None
    submission_name: str | None = None
    ood_data: str | None = None
    publication: str | None = None
    claims: list[str] | None = None

    @property
    def name(self) -> str:
        """Its name in the study."""
        return self.submission_name or "submission"

    @property
    def source(self) -> str:
        """The submission as a SOURCE of `predict`; '' without one."""
        return f"submission:{self.submission.removeprefix(_COMMAND)}" if self.submission else ""

    def check(self) -> None:
        """Raise OptionError if the submission is not a command, or has options but no command."""
        if self.submission is not None and not self.submission.startswith(_COMMAND):
            raise OptionError(
                f"--submission {self.submission}: is not exec:COMMAND, for example exec:./segment"
            )
        said = next((name for name, value in vars(self).items() if value not in (None, [])), "submission")
        if self.submission is None and said != "submission":
            option = f"--{said.replace('_', '-')}"
            raise OptionError(
                f"{option} is for submissions; give the program too, with --submission exec:COMMAND"
            )
