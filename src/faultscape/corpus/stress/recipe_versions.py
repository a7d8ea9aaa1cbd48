"""Versions of the computations behind recipes: what a made set is checked with, without the libraries that
make its images.
"""

from __future__ import annotations

from faultscape import plug

METHOD, METHOD_OF_MOTION = 1, 2  # increased when the same recipe makes different pixels


def method_of_blending(preset: str) -> int:
    """Return the version of the computation of blended images with a preset: that of the presets with motion
    was increased alone.

    >>> method_of_blending("fishyscapes-v1"), method_of_blending("fishyscapes-v2")
    (1, 2)
    """
    return METHOD if preset == "fishyscapes-v1" else METHOD_OF_MOTION


def code_of(name: str) -> str:
    """Return the digest of the file of a user-defined corruption, ``file.py:NAME``; '' for a built-in one."""
    return plug.digest(name) if ".py:" in name else ""
