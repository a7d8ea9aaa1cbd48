"""The built-in layouts, each a complete entry; `collect --layout` and the documentation are made from this
tuple.

Conventions: ``counts`` are the numbers of images that the papers or the sets' own readme files document;
``notes`` say what we could not verify on the data itself.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from faultscape import plug
from faultscape.classes.road_scenes import mapillary_names, mapillary_to_cityscapes
from faultscape.corpus.layouts import (
    adverse,
    camvid,
    cityscapes,
    fishyscapes,
    lost_and_found,
    masks,
    obstacles,
    open_set,
    road_views,
    scenes,
)
from faultscape.corpus.layouts.layout import Layout, Read

_CITY = "leftImg8bit/SPLIT/CITY/*_leftImg8bit.png with gtFine/SPLIT/CITY/*_gtFine_labelIds.png"
_HIDDEN = "labels were not handed out, as far as we know, and are read under the names of its toolkit"


def _labels(of: str) -> Read:
    """Return the reader of Cityscapes label ids (or train ids)."""
    return lambda frame: masks.cityscapes_labels(frame.truth, of)


def _ids(classes: str, of: str) -> Read:
    """Return the reader of files with the ids of a class list."""
    return lambda frame: masks.as_is(frame.truth, classes, of)


def _train_ids(of: str) -> Read:
    """Return the reader of files with Cityscapes train ids."""
    return lambda frame: masks.train_ids(frame.truth, of)


def _vistas(version: str) -> Read:
    return lambda frame: road_views.vistas_instances(frame, mapillary_names(version))


# fmt: off
LAYOUTS: tuple[Layout, ...] = (
    Layout(
        "cityscapes", "Cityscapes", ("train", "val", "test", "train_extra"), "cityscapes", "semantic",
        cityscapes.find_cityscapes, _CITY, "Cordts et al. 2016, cityscapes-dataset.com",
        {"train": 2975, "val": 500, "test": 1525, "train_extra": 19998}, "city",
        "labels are label ids (34) or train ids; those of test are placeholders and count as none; one"
        " disparity map of train_extra is known to be missing",
        terms="registration; not commercial, not to be handed on", read_semantic=_labels("Cityscapes"),
        read_instances=masks.cityscapes_instances, read_depth=masks.disparity_depth,
        read_ego=masks.ego_vehicle,
    ),
    Layout(
        "cityscapes-c", "Cityscapes-C", ("train", "val"), "cityscapes", "semantic", cityscapes.find_corrupted,
        "CORRUPTION/SEVERITY/.../CITY_SEQUENCE_FRAME[_leftImg8bit].png, severities 1-5, and Cityscapes'"
        " gtFine in it or beside it",
        "Hendrycks and Dietterich 2019; Kamann and Rother 2020; Buchanan et al. 2022",
        {"train": 2975, "val": 500}, "city",
        "no official release: the tree is the one that generators write; counts are of one corruption and"
        " severity",
        terms="those of Cityscapes", read_semantic=_labels("Cityscapes"),
        read_instances=masks.cityscapes_instances, read_depth=masks.disparity_depth,
    ),
    Layout(
        "foggy-cityscapes", "Foggy Cityscapes", ("train", "val"), "cityscapes", "semantic",
        cityscapes.find_foggy,
        "leftImg8bit_foggy/SPLIT/CITY/*_leftImg8bit_foggy_beta_{0.005,0.01,0.02}.png and Cityscapes' gtFine"
        " in it or beside it",
        "Sakaridis et al. 2018 (IJCV)", {"train": 2975, "val": 500}, "city",
        "leftImg8bit_foggyDBF is read too; counts are of one density; there is no fog for test",
        terms="those of Cityscapes", read_semantic=_labels("Cityscapes"),
        read_instances=masks.cityscapes_instances, read_depth=masks.disparity_depth,
    ),
    Layout(
        "foggy-driving", "Foggy Driving", ("all", "test", "test_extra"), "cityscapes", "semantic",
        adverse.find_foggy_driving,
        "leftImg8bit/{test,test_extra}/RECORD/*_leftImg8bit.png with gtFine/test and gtCoarse/test_extra",
        "Sakaridis et al. 2018 (IJCV)", {"all": 101, "test": 33, "test_extra": 68}, "",
        "the 68 of test_extra have coarse labels; all is our name for both",
        terms="not commercial (its LICENSE.txt)", read_semantic=_labels("Foggy Driving"),
    ),
    Layout(
        "foggy-zurich", "Foggy Zurich", ("testv2", "testv1", "light", "medium"), "cityscapes", "semantic",
        adverse.find_foggy_zurich,
        "lists_file_names/RGB_SPLIT_filenames.txt, the images under RGB/SEQUENCE it names,"
        " gt_labelIds/SEQUENCE/*.png",
        "Sakaridis et al. 2018 (ECCV); Dai et al. 2020",
        {"testv1": 16, "testv2": 40, "light": 1556, "medium": 1498}, "sequence",
        "testv2 holds testv1; of 3,808 images 40 have labels", terms="not commercial (its LICENSE.txt)",
        read_semantic=_labels("Foggy Zurich"),
    ),
    Layout(
        "dark-zurich", "Dark Zurich", ("val", "test", "train", "val_ref", "test_ref"), "cityscapes",
        "semantic", adverse.find_dark_zurich,
        "rgb_anon/SPLIT/{night,twilight,day}/SEQUENCE/*_rgb_anon.png with"
        " gt/val/night/SEQUENCE/*_gt_labelTrainIds.png (or *_gt_labelIds.png)",
        "Sakaridis et al. 2019 and 2022", {"val": 50, "test": 151, "train": 8377}, "time of day and sequence",
        "train (2,416 images of night, 2,920 of twilight, 3,041 of day), val_ref and test_ref (the places by"
        " day) have no labels; labels of test are hidden; masks of invalid regions are not read; unverified",
        read_semantic=_labels("Dark Zurich"),
    ),
    Layout(
        "acdc", "ACDC", ("train", "val", "test", "train_ref", "val_ref", "test_ref"), "cityscapes",
        "semantic", adverse.find_acdc,
        "rgb_anon/{fog,night,rain,snow}/SPLIT/SEQUENCE/*_rgb_anon.png with"
        " gt/CONDITION/SPLIT/SEQUENCE/*_gt_labelIds.png, of reference splits *_rgb_ref_anon.png and"
        " *_gt_ref_labelIds.png",
        "Sakaridis et al. 2021",
        {"train": 1600, "val": 406, "test": 2000, "train_ref": 1600, "val_ref": 406, "test_ref": 2000},
        "condition and sequence",
        "reference splits show the same places in good conditions, under the same ids, and half of train_ref"
        " and val_ref (1,003) have labels; masks of invalid regions are not read; numbers quoted",
        terms="registration; not commercial", read_semantic=_labels("ACDC"),
    ),
    Layout(
        "ade20k", "ADE20K", ("training", "validation", "test"), "ade20k", "semantic", scenes.find_ade20k,
        "images/{training,validation}/ADE_*.jpg with annotations/SPLIT/*.png of ADEChallengeData2016, and"
        " release_test/testing/*.jpg",
        "Zhou et al. 2017, the scene parsing benchmark", {"training": 20210, "validation": 2000}, "",
        "150 classes: label 0 is void; the full ADE20K with its part masks is not read",
        terms="research and education, not commercial", read_semantic=_ids("ade20k", "ADE20K"),
    ),
    Layout(
        "coco-stuff", "COCO-Stuff", ("train2017", "val2017"), "coco-stuff", "semantic",
        scenes.find_coco_stuff,
        "images/SPLIT/*.jpg (or SPLIT/*.jpg) with stuffthingmaps/SPLIT/*.png (or annotations/SPLIT/*.png)",
        "Caesar et al. 2018", {"train2017": 118287, "val2017": 5000}, "",
        "171 of the ids 0-181 are classes, 255 is void; converted label maps (*_labelTrainIds.png) and the"
        " older COCO-Stuff 10K are not read; the tree is verified by its readme file alone",
        terms="CC BY 4.0, for the labels; Flickr's, for the images",
        read_semantic=_ids("coco-stuff", "COCO-Stuff"),
    ),
    Layout(
        "voc2012", "PASCAL VOC 2012", ("train", "val", "trainval", "test"), "voc", "semantic",
        scenes.find_voc,
        "ImageSets/Segmentation/SPLIT.txt with JPEGImages/ID.jpg and SegmentationClass/ID.png",
        "Everingham et al. 2010", {"train": 1464, "val": 1449, "trainval": 2913, "test": 1456}, "",
        "any list in ImageSets/Segmentation is a split; a listed image that is not there is left out",
        terms="Flickr's, for the images", lists=True, read_semantic=_ids("voc", "PASCAL VOC"),
        read_instances=masks.numbered_instances,
    ),
    Layout(
        "camvid", "CamVid (11 classes)", ("train", "val", "test"), "camvid", "semantic", camvid.find_camvid,
        "SPLIT.txt (image and labels a line) or SPLIT/*.png with SPLITannot/*.png, as SegNet hands"
        " CamVid out",
        "Brostow et al. 2009; Badrinarayanan et al. 2017", {"train": 367, "val": 101, "test": 233}, "drive",
        "lines that begin with /SegNet/CamVid are read; any list beside the official ones is a split",
        terms="CC BY-NC 4.0, by SegNet's readme file", lists=True, read_semantic=_ids("camvid", "CamVid"),
    ),
    Layout(
        "camvid32", "CamVid (32 colours)", ("all",), "camvid32", "semantic", camvid.find_original,
        "701_StillsRaw_full/*.png with LabeledApproved_full/*_L.png", "Brostow et al. 2009", {"all": 701},
        "drive", "there is no official split; labels are colours, Void is void",
        read_semantic=lambda frame: masks.colours(frame.truth, "camvid32"),
    ),
    Layout(
        "fs-static", "Fishyscapes Static", ("validation",), "", "anomaly", fishyscapes.find_static,
        "DDDD_BASE_labels.png with DDDD_BASE_rgb.npz of one version (v1, v2 or v3), and Cityscapes'"
        " leftImg8bit/val in it, in cityscapes/ or beside it",
        "Blum et al. 2021, fishyscapes.com", {"validation": 30}, "city",
        "versions are three folders: give one; v3 has images without anomaly; the test set is hidden;"
        " unverified",
        terms="those of Cityscapes, for the images", read_anomaly=fishyscapes.read_anomaly,
        read_overlaid=fishyscapes.read_overlaid,
    ),
    Layout(
        "fs-lost-and-found", "Fishyscapes Lost and Found", ("validation",), "", "anomaly",
        fishyscapes.find_lost_and_found,
        "DDDD_BASE_labels.png, and Lost and Found's leftImg8bit in it, in lost_and_found/ or beside it",
        "Blum et al. 2021, fishyscapes.com", {"validation": 100}, "sequence",
        "labels whose image is not there are left out; all are of three locations; unverified",
        terms="those of Lost and Found, for the images", read_anomaly=fishyscapes.read_anomaly,
    ),
    Layout(
        "lost-and-found", "Lost and Found", ("train", "test"), "lost-and-found", "anomaly",
        lost_and_found.find_lost_and_found,
        "leftImg8bit/SPLIT/LOCATION/*_leftImg8bit.png with gtCoarse/SPLIT/LOCATION/*_gtCoarse_labelIds.png",
        "Pinggera et al. 2016", {"train": 1036, "test": 1203}, "sequence",
        "the paper says 2,104 frames (1,036 + 1,068), the released archive has 1,203 of test; anomaly truth"
        " is on-road: object 1, free space 0, else 255; 23 frames have no label at all",
        terms="not commercial, not to be handed on", read_semantic=lost_and_found.read_labels,
        read_anomaly=lost_and_found.read_on_road, read_instances=masks.cityscapes_instances,
        read_depth=masks.disparity_depth,
    ),
    Layout(
        "road-anomaly", "RoadAnomaly", ("test",), "", "anomaly", obstacles.find_road_anomaly,
        "frame_list.json, frames/NAME.jpg and frames/NAME.labels/labels_semantic.png", "Lis et al. 2019",
        {"test": 60}, "", "the files' value 2 is the anomaly; there is no void",
        terms="research; the owners of the images differ", read_anomaly=obstacles.read_road_anomaly,
    ),
    Layout(
        "road-anomaly21", "RoadAnomaly21", ("validation", "test"), "", "anomaly",
        obstacles.find_anomaly_track,
        "images/*.jpg with labels_masks/NAME_labels_semantic.png of dataset_AnomalyTrack",
        "Chan et al. 2021, segmentmeifyoucan.com", {"validation": 10, "test": 100}, "",
        "labels of test are hidden", terms="CC BY, CC BY-SA or public domain, by image",
        read_anomaly=obstacles.read_anomaly,
    ),
    Layout(
        "road-obstacle21", "RoadObstacle21", ("validation", "test"), "", "anomaly",
        obstacles.find_obstacle_track,
        "images/SCENE_*.webp with labels_masks/NAME_labels_semantic.png of dataset_ObstacleTrack",
        "Chan et al. 2021, segmentmeifyoucan.com", {"validation": 30, "test": 327}, "scene, of test",
        "as in the benchmark's own code, ten name prefixes of the validation images, and night and snow of"
        " test, are left out; the road alone is judged",
        terms="CC BY 4.0", read_anomaly=obstacles.read_anomaly,
    ),
    Layout(
        "streethazards", "StreetHazards", ("training", "validation", "test"), "streethazards", "semantic",
        obstacles.find_streethazards,
        "train/images/{training,validation}/TOWN/*.png and test/images/test/TOWN/*.png with annotations/"
        " beside images/",
        "Hendrycks et al. 2019", {"training": 5125, "validation": 1031, "test": 1500}, "town",
        "label 14 is the anomaly (void as a class), 1 the background, which counts as known; numbers quoted",
        read_semantic=_ids("streethazards", "StreetHazards"), read_anomaly=obstacles.read_streethazards,
    ),
    Layout(
        "issu", "ISSU", ("train", "val", "test_static", "test_temporal"), "cityscapes", "semantic",
        open_set.find_issu,
        "SET/leftImg8bit/{train,val,test}/FOLDER/*_leftImg8bit.png with"
        " SET/gtFine_csT/PART/FOLDER/*_gtFine_csT.png, SET one of ISSU-Train, ISSU-Test-Static,"
        " ISSU-Test-Temporal; or dataset_ISSUTrack/images and labels_masks",
        "Laskar et al. 2025", {"test_static": 980, "test_temporal": 1138},
        "folder: a drive, a clip, or a weather of IDD-AW",
        "label 254 is the anomaly, and void among classes; images are composed from four sets of IDD by the"
        " scripts of its repository; ISSU-Test-Temporal-Clip is not read; unverified",
        terms="those of IDD, for the images", read_semantic=open_set.read_issu,
        read_anomaly=open_set.read_issu_anomaly,
    ),
    Layout(
        "bravo", "BRAVO (known classes)", ("ACDC", "outofcontext"), "cityscapes", "semantic",
        open_set.find_bravo,
        "bravo_ACDC/CONDITION/test/SEQUENCE/*_rgb_anon.png and bravo_outofcontext/CITY/*_leftImg8bit.png,"
        " labels (*_gt_labelTrainIds.png) beside them or in bravo_GT/",
        "Vu et al. 2024", {"outofcontext": 329}, "condition and sequence, or city",
        f"{_HIDDEN}; masks of invalid pixels are not read, as in the challenge; unverified",
        terms="those of ACDC and Cityscapes, for the images", read_semantic=_train_ids("BRAVO"),
    ),
    Layout(
        "bravo-unknown", "BRAVO (known classes and invalid pixels)", ("synrain", "synflare", "synobjs"),
        "cityscapes", "semantic", open_set.find_bravo,
        "bravo_{synrain,synflare}/CITY/*_leftImg8bit.png and bravo_synobjs/OBJECT/NUMBER.png, labels and"
        " masks (*_gt_labelTrainIds.png and *_gt_invIds.png, of synobjs *_gt.png and *_mask.png) beside them"
        " or in bravo_GT/",
        "Vu et al. 2024", {"synrain": 500, "synflare": 308, "synobjs": 656}, "city, of synobjs the object",
        f"{_HIDDEN}; anomalous is what its masks call invalid (above 0): drops, flares, inpainted objects;"
        " unverified",
        terms="those of Cityscapes, for the images", read_semantic=_train_ids("BRAVO"),
        read_anomaly=open_set.read_invalid,
    ),
    Layout(
        "bravo-smiyc", "BRAVO (SegmentMeIfYouCan)", ("SMIYC",), "", "anomaly", open_set.find_bravo,
        "bravo_SMIYC/RoadAnomaly21/images/*.jpg, labels (*_labels_semantic.png) beside them or in bravo_GT/",
        "Vu et al. 2024; Chan et al. 2021",
        notes=f"{_HIDDEN}; the images are those of RoadAnomaly21, its validation images too; unverified",
        terms="those of SegmentMeIfYouCan, for the images", read_anomaly=obstacles.read_anomaly,
    ),
    Layout(
        "wilddash1", "WildDash 1", ("val",), "cityscapes", "semantic", road_views.find_wilddash1,
        "wd_val_01/*_100000.png with *_100000_labelIds.png beside them", "Zendel et al. 2018, wilddash.cc",
        {"val": 70}, "",
        "labels of the benchmark images are hidden, and so is which are its negative images; numbers quoted",
        terms="registration", read_semantic=_labels("WildDash 1"), read_instances=masks.cityscapes_instances,
    ),
    Layout(
        "wilddash2", "WildDash 2", ("all",), "cityscapes", "semantic", road_views.find_wilddash2,
        "images/*.jpg with labels/*.png of wd_public_02", "Zendel et al. 2022, wilddash.cc", {"all": 4256},
        "",
        "labels 34-38 (pick-up, van, billboard, street light, road marking) as its authors map them to"
        " Cityscapes; no official split; instance files and the benchmark images (wd_both_02) are not read;"
        " numbers quoted",
        terms="registration", read_semantic=road_views.read_wilddash2,
    ),
    Layout(
        "mapillary-1.2", "Mapillary Vistas 1.2", ("training", "validation", "testing"), "mapillary-1.2",
        "semantic", road_views.find_mapillary_v12,
        "SPLIT/images/*.jpg with SPLIT/v1.2/labels/*.png (or SPLIT/labels of the first release)",
        "Neuhold et al. 2017", {"training": 18000, "validation": 2000, "testing": 5000}, "",
        "the mapping to Cityscapes is ours; instance files are read as label x 256 + number, unverified",
        terms="registration; CC BY-NC-SA", read_semantic=_ids("mapillary-1.2", "Mapillary Vistas 1.2"),
        read_instances=_vistas("1.2"), to_cityscapes=partial(mapillary_to_cityscapes, "1.2"),
    ),
    Layout(
        "mapillary-2.0", "Mapillary Vistas 2.0", ("training", "validation", "testing"), "mapillary-2.0",
        "semantic", road_views.find_mapillary_v20, "SPLIT/images/*.jpg with SPLIT/v2.0/labels/*.png",
        "Neuhold et al. 2017", {"training": 18000, "validation": 2000, "testing": 5000}, "",
        "the mapping to Cityscapes is ours; the order of the 124 labels and instance files are unverified",
        terms="registration; CC BY-NC-SA", read_semantic=_ids("mapillary-2.0", "Mapillary Vistas 2.0"),
        read_instances=_vistas("2.0"), to_cityscapes=partial(mapillary_to_cityscapes, "2.0"),
    ),
    Layout(
        "bdd100k", "BDD100K", ("train", "val", "test"), "cityscapes", "semantic", road_views.find_bdd100k,
        "images/10k/SPLIT/*.jpg with labels/sem_seg/masks/SPLIT/*.png (or seg/images and"
        " seg/labels/*_train_id.png)",
        "Yu et al. 2020", {"train": 7000, "val": 1000, "test": 2000}, "",
        "labels are train ids of Cityscapes; those of test are hidden",
        terms="education, research and not for profit", read_semantic=_train_ids("BDD100K"),
    ),
)
# fmt: on


def entry(name: str) -> Layout:
    """Return the layout with a name, or your own from ``file.py:NAME``, which is named after its file so that
    it can be found again; OptionError with the nearest name otherwise.

    >>> entry("cityscapes").counts["val"]
    500
    >>> entry("cityscape")
    Traceback (most recent call last):
    ...
    faultscape.errors.OptionError: layout 'cityscape' is not known; known are acdc, ade20k, bdd100k, bravo,
    bravo-smiyc, ... Did you mean 'cityscapes'?
    """
    found = plug.find("layout", name, {layout.name: layout for layout in LAYOUTS}, of=Layout)
    return replace(found, name=plug.absolute(name)) if plug.is_own(name) else found
