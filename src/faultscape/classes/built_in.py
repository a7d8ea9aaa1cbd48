"""The class lists that come with Faultscape: CamVid, PASCAL VOC, Cityscapes, ADE20k, COCO-Stuff, those of
other road scenes, and ImageNet-1k for classifiers.

Conventions: ids are the pixel values of the data sets' own masks. Names and ids are facts of the data sets;
parent groups of VOC are from Yan et al. 2021, Table 1, those of Cityscapes are its categories. ADE20k's
colours are defined here, since the data set fixes none in its masks.

The class list of COCO-Stuff: 80 things and 91 stuff classes in 27 coarse ones.

Conventions: ids are the values of the data set's own label maps (stuffthingmaps): the category ids of COCO
minus 1, things in COCO's order, then stuff alphabetically; void 255. Eleven things of COCO have no
segmentation: their ids occur in no label map and are not classes here. Colours are defined here, since the
maps have none.
Source: Caesar et al. 2018; names and groups are facts of the data set.
"""

from __future__ import annotations

from collections.abc import Callable

from faultscape.classes.imagenet1k import imagenet_classes
from faultscape.classes.road_scenes import (
    camvid32,
    lost_and_found,
    mapillary_v12,
    mapillary_v20,
    streethazards,
)
from faultscape.nouns import Classes

_CAMVID = """
    sky:808080 building:800000 pole:c0c080 road:804080 pavement:3c28de tree:808000 sign_symbol:c08080
    fence:404080 car:400080 pedestrian:404000 bicyclist:0080c0
"""
_VOC = """
    background:000000 aeroplane:800000 bicycle:008000 bird:808000 boat:000080 bottle:800080 bus:008080
    car:808080 cat:400000 chair:c00000 cow:408000 diningtable:c08000 dog:400080 horse:c00080 motorbike:408080
    person:c08080 pottedplant:004000 sheep:804000 sofa:00c000 train:80c000 tvmonitor:004080
"""
_CITYSCAPES = """
    road:804080 sidewalk:f423e8 building:464646 wall:66669c fence:be9999 pole:999999 traffic_light:faaa1e
    traffic_sign:dcdc00 vegetation:6b8e23 terrain:98fb98 sky:4682b4 person:dc143c rider:ff0000 car:00008e
    truck:000046 bus:003c64 train:005064 motorcycle:0000e6 bicycle:770b20
"""
# the 34 label ids of the official masks that are evaluated, in the order of the train ids
CITYSCAPES_LABEL_IDS = (7, 8, 11, 12, 13, 17, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 31, 32, 33)
_ADE20K = """
    wall building sky floor tree ceiling road bed windowpane grass cabinet sidewalk person earth door table
    mountain plant curtain chair car water painting sofa shelf house sea mirror rug field armchair seat fence
    desk rock wardrobe lamp bathtub railing cushion base box column signboard chest_of_drawers counter sand
    sink skyscraper fireplace refrigerator grandstand path stairs runway case pool_table pillow screen_door
    stairway river bridge bookcase blind coffee_table toilet flower book hill bench countertop stove palm
    kitchen_island computer swivel_chair boat bar arcade_machine hovel bus towel light truck tower chandelier
    awning streetlight booth television airplane dirt_track apparel pole land bannister escalator ottoman
    bottle buffet poster stage van ship fountain conveyer_belt canopy washer plaything swimming_pool stool
    barrel basket waterfall tent bag minibike cradle oven ball food step tank trade_name microwave pot animal
    bicycle lake dishwasher screen blanket sculpture hood sconce vase traffic_light tray ashcan fan pier
    crt_screen plate monitor bulletin_board shower radiator glass clock flag
"""
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


def _split(text: str) -> tuple[tuple[str, ...], tuple[tuple[int, int, int], ...]]:
    entries = [entry.split(":") for entry in text.split()]
    colours = [bytes.fromhex(colour) for _, colour in entries]
    return tuple(name.replace("_", " ") for name, _ in entries), tuple((c[0], c[1], c[2]) for c in colours)


def camvid() -> Classes:
    """Return CamVid's 11 classes as SegNet uses them: ids 0-10, void 11, no background."""
    names, colours = _split(_CAMVID)
    return Classes(
        tuple(n.replace("sign symbol", "sign_symbol") for n in names), tuple(range(11)), colours, (11,)
    )


def voc() -> Classes:
    """Return PASCAL VOC's 20 classes and background 0; void 255."""
    names, colours = _split(_VOC)
    parents = {
        "person": ("person",),
        "animal": ("bird", "cat", "cow", "dog", "horse", "sheep"),
        "vehicle": ("aeroplane", "bicycle", "boat", "bus", "car", "motorbike", "train"),
        "indoor": ("bottle", "chair", "diningtable", "pottedplant", "sofa", "tvmonitor"),
    }
    return Classes(names, tuple(range(21)), colours, (255,), 0, parents)


def cityscapes() -> Classes:
    """Return Cityscapes' 19 train ids; void 255, no background."""
    names, colours = _split(_CITYSCAPES)
    parents = {
        "flat": ("road", "sidewalk"),
        "construction": ("building", "wall", "fence"),
        "object": ("pole", "traffic light", "traffic sign"),
        "nature": ("vegetation", "terrain"),
        "sky": ("sky",),
        "human": ("person", "rider"),
        "vehicle": ("car", "truck", "bus", "train", "motorcycle", "bicycle"),
    }
    return Classes(names, tuple(range(19)), colours, (255,), None, parents)


def cityscapes_label_ids() -> dict[str, str]:
    """Return the mapping from the official label ids 0-33 to the 19 classes; the others are void."""
    names: dict[int, str] = dict(zip(CITYSCAPES_LABEL_IDS, cityscapes().names, strict=True))
    return {str(label): names.get(label, "void") for label in range(34)}


def ade20k() -> Classes:
    """Return ADE20k's 150 classes: ids 1-150, void 0, no background."""
    names = tuple(name.replace("_", " ") for name in _ADE20K.split())
    colours = tuple(((i * 67) % 256, (i * 151 + 40) % 256, (i * 199 + 90) % 256) for i in range(1, 151))
    return Classes(names, tuple(range(1, 151)), colours, (0,))


def imagenet1k() -> Classes:
    """Return ImageNet's 1,000 classes, for classification: with WordNet ids and without colours."""
    found = imagenet_classes()
    synonyms = {name: words for name, words in zip(found.names, found.synonyms, strict=True) if words}
    glosses = dict(zip(found.names, found.glosses, strict=True))
    return Classes(
        found.names, tuple(range(len(found.names))), (), synonyms=synonyms, wnids=found.wnids, glosses=glosses
    )


BUILT_IN: dict[str, Callable[[], Classes]] = {
    "ade20k": ade20k,
    "camvid": camvid,
    "camvid32": camvid32,
    "cityscapes": cityscapes,
    "coco-stuff": coco_stuff,
    "imagenet1k": imagenet1k,
    "lost-and-found": lost_and_found,
    "mapillary-1.2": mapillary_v12,
    "mapillary-2.0": mapillary_v20,
    "streethazards": streethazards,
    "voc": voc,
}
