"""The class list of COCO-Stuff: 80 things and 91 stuff classes in 27 coarse ones.

Conventions: ids are the values of the data set's own label maps (stuffthingmaps): the category ids of COCO
minus 1, things in COCO's order, then stuff alphabetically; void 255. Eleven things of COCO have no
segmentation: their ids occur in no label map and are not classes here. Colours are defined here, since the
maps have none.
Source: Caesar et al. 2018; names and groups are facts of the data set.
"""

from __future__ import annotations

from faultscape.nouns import Classes

_THINGS = {
    "person": "person",
    "vehicle": "bicycle, car, motorcycle, airplane, bus, train, truck, boat",
    "outdoor": "traffic light, fire hydrant, street sign, stop sign, parking meter, bench",
    "animal": "bird, cat, dog, horse, sheep, cow, elephant, bear, zebra, giraffe",
    "accessory": "hat, backpack, umbrella, shoe, eye glasses, handbag, tie, suitcase",
    "sports": (
        "frisbee, skis, snowboard, sports ball, kite, baseball bat, baseball glove, skateboard, surfboard,"
        " tennis racket"
    ),
    "kitchen": "bottle, plate, wine glass, cup, fork, knife, spoon, bowl",
    "food": "banana, apple, sandwich, orange, broccoli, carrot, hot dog, pizza, donut, cake",
    "furniture": "chair, couch, potted plant, bed, mirror, dining table, window, desk, toilet, door",
    "electronic": "tv, laptop, mouse, remote, keyboard, cell phone",
    "appliance": "microwave, oven, toaster, sink, refrigerator, blender",
    "indoor": "book, clock, vase, scissors, teddy bear, hair drier, toothbrush, hair brush",
}
_STUFF = {
    "raw-material": "cardboard, metal, paper, plastic",
    "wall": "wall-brick, wall-concrete, wall-other, wall-panel, wall-stone, wall-tile, wall-wood",
    "ceiling": "ceiling-other, ceiling-tile",
    "floor": "carpet, floor-marble, floor-other, floor-stone, floor-tile, floor-wood",
    "window": "window-blind, window-other",
    "furniture-stuff": (
        "cabinet, counter, cupboard, desk-stuff, door-stuff, furniture-other, light, mirror-stuff, shelf,"
        " stairs, table"
    ),
    "textile": "banner, blanket, cloth, clothes, curtain, mat, napkin, pillow, rug, textile-other, towel",
    "food-stuff": "food-other, fruit, salad, vegetable",
    "building": "bridge, building-other, house, roof, skyscraper, tent",
    "structural": "cage, fence, net, railing, structural-other",
    "plant": "branch, bush, flower, grass, leaves, moss, plant-other, straw, tree",
    "sky": "clouds, sky-other",
    "solid": "hill, mountain, rock, solid-other, stone, wood",
    "ground": "dirt, gravel, ground-other, mud, pavement, platform, playingfield, railroad, road, sand, snow",
    "water": "fog, river, sea, water-other, waterdrops",
}
# things without a segmentation
_UNUSED = frozenset(
    (
        "street sign",
        "hat",
        "shoe",
        "eye glasses",
        "plate",
        "mirror",
        "window",
        "desk",
        "door",
        "blender",
        "hair brush",
    )
)


def coco_stuff() -> Classes:
    """Return COCO-Stuff's 171 classes: ids 0-181 without the eleven things without a segmentation, void 255.

    >>> classes = coco_stuff()
    >>> (
    ...     len(classes),
    ...     len(classes.parents),
    ...     [dict(zip(classes.ids, classes.names))[id_] for id_ in (0, 89, 91, 148, 181)],
    ... )
    (171, 27, ['person', 'toothbrush', 'banner', 'road', 'wood'])
    """
    groups = {group: tuple(members.split(", ")) for group, members in (_THINGS | _STUFF).items()}
    things = [name for group in _THINGS for name in groups[group]]
    stuff = sorted(name for group in _STUFF for name in groups[group])
    ids = {name: id_ for id_, name in enumerate([*things, *stuff]) if name not in _UNUSED}
    colours = tuple(
        (((id_ + 1) * 67) % 256, ((id_ + 1) * 151 + 40) % 256, ((id_ + 1) * 199 + 90) % 256)
        for id_ in ids.values()
    )
    parents = {group: tuple(name for name in members if name in ids) for group, members in groups.items()}
    return Classes(tuple(ids), tuple(ids.values()), colours, (255,), None, parents)
