"""Class lists of road scene data sets: StreetHazards, the original CamVid, Lost and Found, Mapillary Vistas;
and the Cityscapes class of each Mapillary label.

Conventions: ids are the pixel values of the data sets' own masks (for CamVid the places in its list of
colours). Mapillary's colours are defined here, since it gives several classes one colour. The mapping from
Mapillary to Cityscapes is our choice: Blum et al. 2021's Table 2 is blank in the copy we have. We follow the
definitions of Cityscapes (Cordts et al. 2016) and, where they are silent, the policy of WildDash 2 (Zendel et
al. 2022); labels that neither covers are void.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from faultscape.nouns import Classes

_STREETHAZARDS = """
    background:000000 building:464646 fence:be9999 other:faaaa0 pedestrian:dc143c pole:999999 road_line:9dea32
    road:804080 sidewalk:f423e8 vegetation:6b8e23 car:00008e wall:66669c traffic_sign:dcdc00
"""
_CAMVID32 = """
    Animal:408040 Archway:c00080 Bicyclist:0080c0 Bridge:008040 Building:800000 Car:400080
    CartLuggagePram:4000c0 Child:c08040 Column_Pole:c0c080 Fence:404080 LaneMkgsDriv:8000c0
    LaneMkgsNonDriv:c00040 Misc_Text:808040 MotorcycleScooter:c000c0 OtherMoving:804040 ParkingBlock:40c080
    Pedestrian:404000 Road:804080 RoadShoulder:8080c0 Sidewalk:0000c0 SignSymbol:c08080 Sky:808080
    SUVPickupTruck:4080c0 TrafficCone:000040 TrafficLight:004040 Train:c04080 Tree:808000 Truck_Bus:c080c0
    Tunnel:400040 VegetationMisc:c0c000 Void:000000 Wall:40c000
"""
# label ids 1 to 43
_LOST_AND_FOUND = (
    "free space",
    "crate (black)",
    "crate (black, stacked)",
    "crate (black, upright)",
    "crate (grey)",
    "crate (grey, stacked)",
    "crate (grey, upright)",
    "bumper",
    "cardboard box 1",
    "crate (blue)",
    "crate (blue, small)",
    "crate (green)",
    "crate (green, small)",
    "exhaust pipe",
    "headlight",
    "euro pallet",
    "pylon",
    "pylon (large)",
    "pylon (white)",
    "rearview mirror",
    "tire",
    "ball",
    "bicycle",
    "dog (black)",
    "dog (white)",
    "kid dummy",
    "bobby car (grey)",
    "bobby car (red)",
    "bobby car (yellow)",
    "cardboard box 2",
    "marker pole (lying)",
    "plastic bag (bloated)",
    "post (red, lying)",
    "post stand",
    "styrofoam",
    "timber (small)",
    "timber (squared)",
    "wheel cap",
    "wood (thin)",
    "kid (walking)",
    "kid (on a bobby car)",
    "kid (on a small bobby car)",
    "kid (crawling)",
)
_V20_VOID = ("void--dynamic", "void--ground", "void--static", "void--unlabeled")


def streethazards() -> Classes:
    """Return StreetHazards' classes: 12 and the background (mostly sky), ids 1-13; void 0 and 14, which is
    the anomaly of the test split.

    >>> streethazards().names[:3], streethazards().ids[-1], streethazards().void
    (('background', 'building', 'fence'), 13, (0, 14))
    """
    names, colours = _split(_STREETHAZARDS)
    return Classes(tuple(name.replace("_", " ") for name in names), tuple(range(1, 14)), colours, (0, 14), 1)


def camvid32() -> Classes:
    """Return the 31 classes of the original CamVid in the order of its list of colours, void 30; no
    background.

    >>> len(camvid32()), camvid32().names[17], camvid32().ids[-1]
    (31, 'Road', 31)
    """
    names, colours = _split(_CAMVID32)
    void = names.index("Void")
    kept = [place for place in range(len(names)) if place != void]
    return Classes(tuple(names[k] for k in kept), tuple(kept), tuple(colours[k] for k in kept), (void,))


def lost_and_found() -> Classes:
    """Return the label ids of Lost and Found: free space 1, objects 2-43, void 0.

    >>> dict(zip(lost_and_found().ids, lost_and_found().names))[23]
    'bicycle'
    """
    return Classes(_LOST_AND_FOUND, tuple(range(1, 44)), _palette(43), (0,))


def mapillary_v12() -> Classes:
    """Return Mapillary Vistas' classes of version 1.2: ids 0-64, void 65.

    >>> len(mapillary_v12()), mapillary_v12().names[13]
    (65, 'construction--flat--road')
    """
    return _mapillary("1.2", ("void--unlabeled",))


def mapillary_v20() -> Classes:
    """Return Mapillary Vistas' classes of version 2.0: ids 0-123; labels called dynamic, ground, static or
    unlabeled are void.

    >>> len(mapillary_v20()), mapillary_v20().void
    (120, (119, 121, 122, 123))
    """
    return _mapillary("2.0", _V20_VOID)


def mapillary_to_cityscapes(version: str) -> dict[str, str]:
    """Return {label id: class of Cityscapes or void} of Mapillary Vistas ``"1.2"`` or ``"2.0"``: our choice,
    since Blum et al. 2021's Table 2 is blank in the copy we have.

    >>> [mapillary_to_cityscapes("1.2")[label] for label in ("13", "24", "44", "58")]
    ['road', 'road', 'void', 'train']
    """
    return {str(id_): known or "void" for id_, (_, known) in enumerate(_table(version))}


def mapillary_names(version: str) -> tuple[str, ...]:
    """Return the names of all labels of Mapillary Vistas ``"1.2"`` or ``"2.0"`` by label id, including void
    ones.

    >>> len(mapillary_names("1.2")), len(mapillary_names("2.0"))
    (66, 124)
    """
    return tuple(name for name, _ in _table(version))


def _mapillary(version: str, void: Sequence[str]) -> Classes:
    names = [name for name, _ in _table(version)]
    kept = [id_ for id_, name in enumerate(names) if name not in void]
    colours = _palette(len(names))
    voids = tuple(id_ for id_, name in enumerate(names) if name in void)
    return Classes(tuple(names[k] for k in kept), tuple(kept), tuple(colours[k] for k in kept), voids)


def _table(version: str) -> list[tuple[str, str]]:
    """Return (name, class of Cityscapes or '') of each label of a version, by label id."""
    lines = Path(__file__).with_name(f"mapillary_v{version}.txt").read_text(encoding="ascii").splitlines()
    rows = [line.split() for line in lines if not line.startswith("#")]
    return [(row[0], row[1].replace("_", " ") if len(row) > 1 else "") for row in rows]


def _split(text: str) -> tuple[tuple[str, ...], tuple[tuple[int, int, int], ...]]:
    entries = [entry.split(":") for entry in text.split()]
    colours = [bytes.fromhex(colour) for _, colour in entries]
    return tuple(name for name, _ in entries), tuple((c[0], c[1], c[2]) for c in colours)


def _palette(count: int) -> tuple[tuple[int, int, int], ...]:
    return tuple(((i * 67) % 256, (i * 151 + 40) % 256, (i * 199 + 90) % 256) for i in range(1, count + 1))
