"""What `stress` returns: the sets that it made, or the classes that it held out."""

from __future__ import annotations

from dataclasses import dataclass

from faultscape.errors import counted


@dataclass(frozen=True)
class Stressed:
    """The sets that a line made, and how many of their images are new, changed or left since; ``written`` files in ``folder``."""

    study: str
    kind: str
    base: str
    sets: tuple[str, ...]
    images: int
    new: int
    changed: int
    left: int
    folder: str = ""
    written: int = 0

    def __repr__(self) -> str:
        sets = (
            f"{counted(len(self.sets), 'set')} of {self.base}: {', '.join(self.sets[:3])}{', ...' if len(self.sets) > 3 else ''}"
        )
        parts = [
            f"{self.new:,} new" if 0 < self.new < self.images else "",
            f"{self.changed:,} changed" if self.changed else "",
            f"{self.left:,} left" if self.left else "",
            "as they were" if not self.new + self.changed + self.left else "",
        ]
        lines = [f"{self.study}: {sets} ({', '.join([f'{self.images:,} images', *filter(None, parts)])})"]
        lines += [f"written  {counted(self.written, 'file')} to {self.folder}"] if self.folder else []
        return "\n".join(lines)


@dataclass(frozen=True)
class HeldOut:
    """The classes that a line held out under a name, how many are kept, and what was written."""

    study: str
    name: str
    classes: tuple[str, ...]
    kept: int
    folder: str = ""
    written: int = 0

    def __repr__(self) -> str:
        lines = [
            f"{self.study}: holdout {self.name} withholds {', '.join(self.classes)}; {counted(self.kept, 'class is', 'classes are')} kept"
        ]
        lines += [f"written  truth of {counted(self.written, 'image')} to {self.folder}"] if self.folder else []
        return "\n".join([*lines, f"next: faultscape measure {self.study} --holdout {self.name}"])
