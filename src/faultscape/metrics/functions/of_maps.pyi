# The functions of metrics as type checkers see them; written by scripts/metric_functions.py.

from faultscape.arguments import ClassList
from faultscape.choices import (
    Absent,
    Connectivity,
    Match,
    Over,
    Per,
    Pooling,
    Preset,
    RegionKind,
    RegionScale,
    VoidRule,
)
from faultscape.metrics.overlaps.regions import Maps

def miou(
    truth: Maps,
    prediction: Maps,
    classes: ClassList,
    *,
    background: int | None = None,
    void: int | tuple[int, ...] = (),
    preset: Preset | None = None,
    over: Over = "union",
    pooling: Pooling = "pooled",
) -> float:
    """Return `miou` of predicted maps against true ones: mean over classes of intersection over union (Yan
    et al. 2021, eq. 7); over=union.

    Large is good; NaN is undefined. Images are combined as `measure` does. Source: Yan et al. 2021, eq.
    7. LabelMapError for maps that do not fit each other or the classes.

    Parameters
    ----------
    truth, prediction
        (I, H, W) maps of class ids, lists of (H, W), or one map (H, W): arrays or torch tensors.
    classes
        Classes, a built-in name, names or a number.
    background
        The id that forms no regions, for classes given as a number.
    void
        The void id or ids, for classes given as a number or as names.
    preset
        A name of `PRESETS`, which the options given override.
    over
        Classes that mIoU, Dice and MPA are means over: union (those of truth or prediction; default),
        truth, or all (an absent class counts 0). MPA has a value only for classes of the truth, so
        union and truth are the same there.
    pooling
        How pixels and scores of several images are combined: pooled (default), per_image (a mean over
        images), or cells (a mean over all cells of an image and a class; metrics without classes as
        per_image).
    """

def fwiou(
    truth: Maps,
    prediction: Maps,
    classes: ClassList,
    *,
    background: int | None = None,
    void: int | tuple[int, ...] = (),
    preset: Preset | None = None,
    pooling: Pooling = "pooled",
) -> float:
    """Return `fwiou` of predicted maps against true ones: intersection over union weighted by the truth's
    class frequency (Yan et al. 2021, eq. 9 with the frequency).

    Large is good; NaN is undefined. Images are combined as `measure` does. Source: Yan et al. 2021, eq.
    9. LabelMapError for maps that do not fit each other or the classes.

    Parameters
    ----------
    truth, prediction
        (I, H, W) maps of class ids, lists of (H, W), or one map (H, W): arrays or torch tensors.
    classes
        Classes, a built-in name, names or a number.
    background
        The id that forms no regions, for classes given as a number.
    void
        The void id or ids, for classes given as a number or as names.
    preset
        A name of `PRESETS`, which the options given override.
    pooling
        How pixels and scores of several images are combined: pooled (default), per_image (a mean over
        images), or cells (a mean over all cells of an image and a class; metrics without classes as
        per_image).
    """

def mpa(
    truth: Maps,
    prediction: Maps,
    classes: ClassList,
    *,
    background: int | None = None,
    void: int | tuple[int, ...] = (),
    preset: Preset | None = None,
    over: Over = "union",
    pooling: Pooling = "pooled",
) -> float:
    """Return `mpa` of predicted maps against true ones: mean over classes of N_yy / N_y. (Yan et al. 2021,
    eq. 10); over=union.

    Large is good; NaN is undefined. Images are combined as `measure` does. Source: Yan et al. 2021, eq.
    10. LabelMapError for maps that do not fit each other or the classes.

    Parameters
    ----------
    truth, prediction
        (I, H, W) maps of class ids, lists of (H, W), or one map (H, W): arrays or torch tensors.
    classes
        Classes, a built-in name, names or a number.
    background
        The id that forms no regions, for classes given as a number.
    void
        The void id or ids, for classes given as a number or as names.
    preset
        A name of `PRESETS`, which the options given override.
    over
        Classes that mIoU, Dice and MPA are means over: union (those of truth or prediction; default),
        truth, or all (an absent class counts 0). MPA has a value only for classes of the truth, so
        union and truth are the same there.
    pooling
        How pixels and scores of several images are combined: pooled (default), per_image (a mean over
        images), or cells (a mean over all cells of an image and a class; metrics without classes as
        per_image).
    """

def pixel_accuracy(
    truth: Maps,
    prediction: Maps,
    classes: ClassList,
    *,
    background: int | None = None,
    void: int | tuple[int, ...] = (),
    preset: Preset | None = None,
    pooling: Pooling = "pooled",
) -> float:
    """Return `pixel_accuracy` of predicted maps against true ones: share of the truth's pixels that the
    prediction calls alike.

    Large is good; NaN is undefined. Images are combined as `measure` does. LabelMapError for maps that do
    not fit each other or the classes.

    Parameters
    ----------
    truth, prediction
        (I, H, W) maps of class ids, lists of (H, W), or one map (H, W): arrays or torch tensors.
    classes
        Classes, a built-in name, names or a number.
    background
        The id that forms no regions, for classes given as a number.
    void
        The void id or ids, for classes given as a number or as names.
    preset
        A name of `PRESETS`, which the options given override.
    pooling
        How pixels and scores of several images are combined: pooled (default), per_image (a mean over
        images), or cells (a mean over all cells of an image and a class; metrics without classes as
        per_image).
    """

def dice(
    truth: Maps,
    prediction: Maps,
    classes: ClassList,
    *,
    background: int | None = None,
    void: int | tuple[int, ...] = (),
    preset: Preset | None = None,
    over: Over = "union",
    pooling: Pooling = "pooled",
) -> float:
    """Return `dice` of predicted maps against true ones: mean over classes of 2 N_yy / (N_y. + N_.y);
    over=union.

    Large is good; NaN is undefined. Images are combined as `measure` does. LabelMapError for maps that do
    not fit each other or the classes.

    Parameters
    ----------
    truth, prediction
        (I, H, W) maps of class ids, lists of (H, W), or one map (H, W): arrays or torch tensors.
    classes
        Classes, a built-in name, names or a number.
    background
        The id that forms no regions, for classes given as a number.
    void
        The void id or ids, for classes given as a number or as names.
    preset
        A name of `PRESETS`, which the options given override.
    over
        Classes that mIoU, Dice and MPA are means over: union (those of truth or prediction; default),
        truth, or all (an absent class counts 0). MPA has a value only for classes of the truth, so
        union and truth are the same there.
    pooling
        How pixels and scores of several images are combined: pooled (default), per_image (a mean over
        images), or cells (a mean over all cells of an image and a class; metrics without classes as
        per_image).
    """

def pq(
    truth: Maps,
    prediction: Maps,
    classes: ClassList,
    *,
    background: int | None = None,
    void: int | tuple[int, ...] = (),
    divisor: int | None = None,
    preset: Preset | None = None,
    regions: RegionKind = "connected",
    connectivity: Connectivity = 8,
    pooling: Pooling = "pooled",
) -> float:
    """Return `pq` of predicted maps against true ones: panoptic quality, the reference rule for void;
    connectivity=8, regions made before void is taken away.

    Large is good; NaN is undefined. Images are combined as `measure` does. Source: Kirillov et al. 2019.
    LabelMapError for maps that do not fit each other or the classes.

    Parameters
    ----------
    truth, prediction
        (I, H, W) maps of class ids, lists of (H, W), or one map (H, W): arrays or torch tensors.
    classes
        Classes, a built-in name, names or a number.
    background
        The id that forms no regions, for classes given as a number.
    void
        The void id or ids, for classes given as a number or as names.
    divisor
        With regions='given': class = id // divisor; None: the id is the class.
    preset
        A name of `PRESETS`, which the options given override.
    regions
        connected (made from classes; default) or given (the maps hold region ids).
    connectivity
        8 (default) or 4.
    pooling
        How pixels and scores of several images are combined: pooled (default), per_image (a mean over
        images), or cells (a mean over all cells of an image and a class; metrics without classes as
        per_image).
    """

def sq(
    truth: Maps,
    prediction: Maps,
    classes: ClassList,
    *,
    background: int | None = None,
    void: int | tuple[int, ...] = (),
    divisor: int | None = None,
    preset: Preset | None = None,
    regions: RegionKind = "connected",
    connectivity: Connectivity = 8,
    pooling: Pooling = "pooled",
) -> float:
    """Return `sq` of predicted maps against true ones: segmentation quality, the mean IoU of matched
    regions; connectivity=8, regions made before void is taken away.

    Large is good; NaN is undefined. Images are combined as `measure` does. Source: Kirillov et al. 2019.
    LabelMapError for maps that do not fit each other or the classes.

    Parameters
    ----------
    truth, prediction
        (I, H, W) maps of class ids, lists of (H, W), or one map (H, W): arrays or torch tensors.
    classes
        Classes, a built-in name, names or a number.
    background
        The id that forms no regions, for classes given as a number.
    void
        The void id or ids, for classes given as a number or as names.
    divisor
        With regions='given': class = id // divisor; None: the id is the class.
    preset
        A name of `PRESETS`, which the options given override.
    regions
        connected (made from classes; default) or given (the maps hold region ids).
    connectivity
        8 (default) or 4.
    pooling
        How pixels and scores of several images are combined: pooled (default), per_image (a mean over
        images), or cells (a mean over all cells of an image and a class; metrics without classes as
        per_image).
    """

def rq(
    truth: Maps,
    prediction: Maps,
    classes: ClassList,
    *,
    background: int | None = None,
    void: int | tuple[int, ...] = (),
    divisor: int | None = None,
    preset: Preset | None = None,
    regions: RegionKind = "connected",
    connectivity: Connectivity = 8,
    pooling: Pooling = "pooled",
) -> float:
    """Return `rq` of predicted maps against true ones: recognition quality, the F1 score of regions at IoU >
    .5; connectivity=8, regions made before void is taken away.

    Large is good; NaN is undefined. Images are combined as `measure` does. Source: Kirillov et al. 2019.
    LabelMapError for maps that do not fit each other or the classes.

    Parameters
    ----------
    truth, prediction
        (I, H, W) maps of class ids, lists of (H, W), or one map (H, W): arrays or torch tensors.
    classes
        Classes, a built-in name, names or a number.
    background
        The id that forms no regions, for classes given as a number.
    void
        The void id or ids, for classes given as a number or as names.
    divisor
        With regions='given': class = id // divisor; None: the id is the class.
    preset
        A name of `PRESETS`, which the options given override.
    regions
        connected (made from classes; default) or given (the maps hold region ids).
    connectivity
        8 (default) or 4.
    pooling
        How pixels and scores of several images are combined: pooled (default), per_image (a mean over
        images), or cells (a mean over all cells of an image and a class; metrics without classes as
        per_image).
    """

def boundary_iou(
    truth: Maps,
    prediction: Maps,
    classes: ClassList,
    *,
    background: int | None = None,
    void: int | tuple[int, ...] = (),
    preset: Preset | None = None,
    pooling: Pooling = "pooled",
    band: float = 0.02,
) -> float:
    """Return `boundary_iou` of predicted maps against true ones: intersection over union of the bands inside
    the edges, width 0.02 (pixels from 1 on, else of the diagonal).

    Large is good; NaN is undefined. Images are combined as `measure` does. Source: Cheng et al. 2021.
    LabelMapError for maps that do not fit each other or the classes.

    Parameters
    ----------
    truth, prediction
        (I, H, W) maps of class ids, lists of (H, W), or one map (H, W): arrays or torch tensors.
    classes
        Classes, a built-in name, names or a number.
    background
        The id that forms no regions, for classes given as a number.
    void
        The void id or ids, for classes given as a number or as names.
    preset
        A name of `PRESETS`, which the options given override.
    pooling
        How pixels and scores of several images are combined: pooled (default), per_image (a mean over
        images), or cells (a mean over all cells of an image and a class; metrics without classes as
        per_image).
    band
        Boundary IoU: width of the band, in the same units (default 0.02).
    """

def recall_smallest(
    truth: Maps,
    prediction: Maps,
    classes: ClassList,
    *,
    background: int | None = None,
    void: VoidRule | int | tuple[int, ...] = "cut",
    divisor: int | None = None,
    preset: Preset | None = None,
    regions: RegionKind = "connected",
    connectivity: Connectivity = 8,
    pooling: Pooling = "pooled",
) -> float:
    """Return `recall_smallest` of predicted maps against true ones: share found of the smallest quarter, by
    size, of a class's true regions in the data set: a predicted region at IoU > .5; connectivity=8,
    void=cut.

    Large is good; NaN is undefined. Images are combined as `measure` does. LabelMapError for maps that do
    not fit each other or the classes.

    Parameters
    ----------
    truth, prediction
        (I, H, W) maps of class ids, lists of (H, W), or one map (H, W): arrays or torch tensors.
    classes
        Classes, a built-in name, names or a number.
    background
        The id that forms no regions, for classes given as a number.
    void
        cut or bridge, as in `define`; or the void id or ids, for classes given as a number or as
        names.
    divisor
        With regions='given': class = id // divisor; None: the id is the class.
    preset
        A name of `PRESETS`, which the options given override.
    regions
        connected (made from classes; default) or given (the maps hold region ids).
    connectivity
        8 (default) or 4.
    pooling
        How pixels and scores of several images are combined: pooled (default), per_image (a mean over
        images), or cells (a mean over all cells of an image and a class; metrics without classes as
        per_image).
    """

def recall_small(
    truth: Maps,
    prediction: Maps,
    classes: ClassList,
    *,
    background: int | None = None,
    void: VoidRule | int | tuple[int, ...] = "cut",
    divisor: int | None = None,
    preset: Preset | None = None,
    regions: RegionKind = "connected",
    connectivity: Connectivity = 8,
    pooling: Pooling = "pooled",
) -> float:
    """Return `recall_small` of predicted maps against true ones: share found of the second quarter, by size,
    of a class's true regions in the data set: a predicted region at IoU > .5; connectivity=8, void=cut.

    Large is good; NaN is undefined. Images are combined as `measure` does. LabelMapError for maps that do
    not fit each other or the classes.

    Parameters
    ----------
    truth, prediction
        (I, H, W) maps of class ids, lists of (H, W), or one map (H, W): arrays or torch tensors.
    classes
        Classes, a built-in name, names or a number.
    background
        The id that forms no regions, for classes given as a number.
    void
        cut or bridge, as in `define`; or the void id or ids, for classes given as a number or as
        names.
    divisor
        With regions='given': class = id // divisor; None: the id is the class.
    preset
        A name of `PRESETS`, which the options given override.
    regions
        connected (made from classes; default) or given (the maps hold region ids).
    connectivity
        8 (default) or 4.
    pooling
        How pixels and scores of several images are combined: pooled (default), per_image (a mean over
        images), or cells (a mean over all cells of an image and a class; metrics without classes as
        per_image).
    """

def recall_large(
    truth: Maps,
    prediction: Maps,
    classes: ClassList,
    *,
    background: int | None = None,
    void: VoidRule | int | tuple[int, ...] = "cut",
    divisor: int | None = None,
    preset: Preset | None = None,
    regions: RegionKind = "connected",
    connectivity: Connectivity = 8,
    pooling: Pooling = "pooled",
) -> float:
    """Return `recall_large` of predicted maps against true ones: share found of the third quarter, by size,
    of a class's true regions in the data set: a predicted region at IoU > .5; connectivity=8, void=cut.

    Large is good; NaN is undefined. Images are combined as `measure` does. LabelMapError for maps that do
    not fit each other or the classes.

    Parameters
    ----------
    truth, prediction
        (I, H, W) maps of class ids, lists of (H, W), or one map (H, W): arrays or torch tensors.
    classes
        Classes, a built-in name, names or a number.
    background
        The id that forms no regions, for classes given as a number.
    void
        cut or bridge, as in `define`; or the void id or ids, for classes given as a number or as
        names.
    divisor
        With regions='given': class = id // divisor; None: the id is the class.
    preset
        A name of `PRESETS`, which the options given override.
    regions
        connected (made from classes; default) or given (the maps hold region ids).
    connectivity
        8 (default) or 4.
    pooling
        How pixels and scores of several images are combined: pooled (default), per_image (a mean over
        images), or cells (a mean over all cells of an image and a class; metrics without classes as
        per_image).
    """

def recall_largest(
    truth: Maps,
    prediction: Maps,
    classes: ClassList,
    *,
    background: int | None = None,
    void: VoidRule | int | tuple[int, ...] = "cut",
    divisor: int | None = None,
    preset: Preset | None = None,
    regions: RegionKind = "connected",
    connectivity: Connectivity = 8,
    pooling: Pooling = "pooled",
) -> float:
    """Return `recall_largest` of predicted maps against true ones: share found of the largest quarter, by
    size, of a class's true regions in the data set: a predicted region at IoU > .5; connectivity=8,
    void=cut.

    Large is good; NaN is undefined. Images are combined as `measure` does. LabelMapError for maps that do
    not fit each other or the classes.

    Parameters
    ----------
    truth, prediction
        (I, H, W) maps of class ids, lists of (H, W), or one map (H, W): arrays or torch tensors.
    classes
        Classes, a built-in name, names or a number.
    background
        The id that forms no regions, for classes given as a number.
    void
        cut or bridge, as in `define`; or the void id or ids, for classes given as a number or as
        names.
    divisor
        With regions='given': class = id // divisor; None: the id is the class.
    preset
        A name of `PRESETS`, which the options given override.
    regions
        connected (made from classes; default) or given (the maps hold region ids).
    connectivity
        8 (default) or 4.
    pooling
        How pixels and scores of several images are combined: pooled (default), per_image (a mean over
        images), or cells (a mean over all cells of an image and a class; metrics without classes as
        per_image).
    """

def rom(
    truth: Maps,
    prediction: Maps,
    classes: ClassList,
    *,
    background: int | None = None,
    void: VoidRule | int | tuple[int, ...] = "cut",
    divisor: int | None = None,
    preset: Preset | None = None,
    regions: RegionKind = "connected",
    connectivity: Connectivity = 8,
    absent: Absent = "nan",
    scale: RegionScale = "tanh",
) -> float:
    """Return `rom` of predicted maps against true ones: region-wise over-segmentation measure, tanh(ROR m_o)
    (Zhang et al. 2021, eq. 7); connectivity=8, void=cut, absent=nan, scale=tanh.

    Small is good; NaN is undefined. Images are combined as `measure` does. Source: Zhang et al. 2021, eq.
    6 and 7. LabelMapError for maps that do not fit each other or the classes.

    Parameters
    ----------
    truth, prediction
        (I, H, W) maps of class ids, lists of (H, W), or one map (H, W): arrays or torch tensors.
    classes
        Classes, a built-in name, names or a number.
    background
        The id that forms no regions, for classes given as a number.
    void
        cut or bridge, as in `define`; or the void id or ids, for classes given as a number or as
        names.
    divisor
        With regions='given': class = id // divisor; None: the id is the class.
    preset
        A name of `PRESETS`, which the options given override.
    regions
        connected (made from classes; default) or given (the maps hold region ids).
    connectivity
        8 (default) or 4.
    absent
        nan (default) or zero: ROM, RUM, ROR, RUR and AP of a class without regions on one side.
    scale
        tanh (default), sigmoid or none, in ROM and RUM.
    """

def rum(
    truth: Maps,
    prediction: Maps,
    classes: ClassList,
    *,
    background: int | None = None,
    void: VoidRule | int | tuple[int, ...] = "cut",
    divisor: int | None = None,
    preset: Preset | None = None,
    regions: RegionKind = "connected",
    connectivity: Connectivity = 8,
    absent: Absent = "nan",
    scale: RegionScale = "tanh",
) -> float:
    """Return `rum` of predicted maps against true ones: region-wise under-segmentation measure, tanh(RUR
    m_u) (Zhang et al. 2021, eq. 10); connectivity=8, void=cut, absent=nan, scale=tanh.

    Small is good; NaN is undefined. Images are combined as `measure` does. Source: Zhang et al. 2021, eq.
    9 and 10. LabelMapError for maps that do not fit each other or the classes.

    Parameters
    ----------
    truth, prediction
        (I, H, W) maps of class ids, lists of (H, W), or one map (H, W): arrays or torch tensors.
    classes
        Classes, a built-in name, names or a number.
    background
        The id that forms no regions, for classes given as a number.
    void
        cut or bridge, as in `define`; or the void id or ids, for classes given as a number or as
        names.
    divisor
        With regions='given': class = id // divisor; None: the id is the class.
    preset
        A name of `PRESETS`, which the options given override.
    regions
        connected (made from classes; default) or given (the maps hold region ids).
    connectivity
        8 (default) or 4.
    absent
        nan (default) or zero: ROM, RUM, ROR, RUR and AP of a class without regions on one side.
    scale
        tanh (default), sigmoid or none, in ROM and RUM.
    """

def ror(
    truth: Maps,
    prediction: Maps,
    classes: ClassList,
    *,
    background: int | None = None,
    void: VoidRule | int | tuple[int, ...] = "cut",
    divisor: int | None = None,
    preset: Preset | None = None,
    regions: RegionKind = "connected",
    connectivity: Connectivity = 8,
    absent: Absent = "nan",
) -> float:
    """Return `ror` of predicted maps against true ones: region-wise over-segmentation ratio (Zhang et al.
    2021, eq. 5); connectivity=8, void=cut, absent=nan, scale=tanh.

    Small is good; NaN is undefined. Images are combined as `measure` does. Source: Zhang et al. 2021, eq.
    5. LabelMapError for maps that do not fit each other or the classes.

    Parameters
    ----------
    truth, prediction
        (I, H, W) maps of class ids, lists of (H, W), or one map (H, W): arrays or torch tensors.
    classes
        Classes, a built-in name, names or a number.
    background
        The id that forms no regions, for classes given as a number.
    void
        cut or bridge, as in `define`; or the void id or ids, for classes given as a number or as
        names.
    divisor
        With regions='given': class = id // divisor; None: the id is the class.
    preset
        A name of `PRESETS`, which the options given override.
    regions
        connected (made from classes; default) or given (the maps hold region ids).
    connectivity
        8 (default) or 4.
    absent
        nan (default) or zero: ROM, RUM, ROR, RUR and AP of a class without regions on one side.
    """

def rur(
    truth: Maps,
    prediction: Maps,
    classes: ClassList,
    *,
    background: int | None = None,
    void: VoidRule | int | tuple[int, ...] = "cut",
    divisor: int | None = None,
    preset: Preset | None = None,
    regions: RegionKind = "connected",
    connectivity: Connectivity = 8,
    absent: Absent = "nan",
) -> float:
    """Return `rur` of predicted maps against true ones: region-wise under-segmentation ratio (Zhang et al.
    2021, eq. 8); connectivity=8, void=cut, absent=nan, scale=tanh.

    Small is good; NaN is undefined. Images are combined as `measure` does. Source: Zhang et al. 2021, eq.
    8. LabelMapError for maps that do not fit each other or the classes.

    Parameters
    ----------
    truth, prediction
        (I, H, W) maps of class ids, lists of (H, W), or one map (H, W): arrays or torch tensors.
    classes
        Classes, a built-in name, names or a number.
    background
        The id that forms no regions, for classes given as a number.
    void
        cut or bridge, as in `define`; or the void id or ids, for classes given as a number or as
        names.
    divisor
        With regions='given': class = id // divisor; None: the id is the class.
    preset
        A name of `PRESETS`, which the options given override.
    regions
        connected (made from classes; default) or given (the maps hold region ids).
    connectivity
        8 (default) or 4.
    absent
        nan (default) or zero: ROM, RUM, ROR, RUR and AP of a class without regions on one side.
    """

def pe_os(
    truth: Maps,
    prediction: Maps,
    classes: ClassList,
    *,
    background: int | None = None,
    void: VoidRule | int | tuple[int, ...] = "cut",
    divisor: int | None = None,
    preset: Preset | None = None,
    regions: RegionKind = "connected",
    connectivity: Connectivity = 8,
    per: Per = "truth",
) -> float:
    """Return `pe_os` of predicted maps against true ones: Persello's over-segmentation error, mean over
    regions of the truth; connectivity=8, void=cut.

    Small is good; NaN is undefined. Images are combined as `measure` does. Source: Persello and Bruzzone
    2010. LabelMapError for maps that do not fit each other or the classes.

    Parameters
    ----------
    truth, prediction
        (I, H, W) maps of class ids, lists of (H, W), or one map (H, W): arrays or torch tensors.
    classes
        Classes, a built-in name, names or a number.
    background
        The id that forms no regions, for classes given as a number.
    void
        cut or bridge, as in `define`; or the void id or ids, for classes given as a number or as
        names.
    divisor
        With regions='given': class = id // divisor; None: the id is the class.
    preset
        A name of `PRESETS`, which the options given override.
    regions
        connected (made from classes; default) or given (the maps hold region ids).
    connectivity
        8 (default) or 4.
    per
        truth (default) or prediction: over which regions PE-OS and PE-US are means.
    """

def pe_us(
    truth: Maps,
    prediction: Maps,
    classes: ClassList,
    *,
    background: int | None = None,
    void: VoidRule | int | tuple[int, ...] = "cut",
    divisor: int | None = None,
    preset: Preset | None = None,
    regions: RegionKind = "connected",
    connectivity: Connectivity = 8,
    per: Per = "truth",
) -> float:
    """Return `pe_us` of predicted maps against true ones: Persello's under-segmentation error, mean over
    regions of the truth; connectivity=8, void=cut.

    Small is good; NaN is undefined. Images are combined as `measure` does. Source: Persello and Bruzzone
    2010. LabelMapError for maps that do not fit each other or the classes.

    Parameters
    ----------
    truth, prediction
        (I, H, W) maps of class ids, lists of (H, W), or one map (H, W): arrays or torch tensors.
    classes
        Classes, a built-in name, names or a number.
    background
        The id that forms no regions, for classes given as a number.
    void
        cut or bridge, as in `define`; or the void id or ids, for classes given as a number or as
        names.
    divisor
        With regions='given': class = id // divisor; None: the id is the class.
    preset
        A name of `PRESETS`, which the options given override.
    regions
        connected (made from classes; default) or given (the maps hold region ids).
    connectivity
        8 (default) or 4.
    per
        truth (default) or prediction: over which regions PE-OS and PE-US are means.
    """

def ap50(
    truth: Maps,
    prediction: Maps,
    classes: ClassList,
    *,
    background: int | None = None,
    void: VoidRule | int | tuple[int, ...] = "cut",
    divisor: int | None = None,
    preset: Preset | None = None,
    regions: RegionKind = "connected",
    connectivity: Connectivity = 8,
    absent: Absent = "nan",
    match: Match = "iou",
) -> float:
    """Return `ap50` of predicted maps against true ones: TP / (TP + FP) of predicted regions at IoU >= .50,
    of an image and class, without scores; connectivity=8, void=cut, absent=nan.

    Large is good; NaN is undefined. Images are combined as `measure` does. Source: Zhang et al. 2021.
    LabelMapError for maps that do not fit each other or the classes.

    Parameters
    ----------
    truth, prediction
        (I, H, W) maps of class ids, lists of (H, W), or one map (H, W): arrays or torch tensors.
    classes
        Classes, a built-in name, names or a number.
    background
        The id that forms no regions, for classes given as a number.
    void
        cut or bridge, as in `define`; or the void id or ids, for classes given as a number or as
        names.
    divisor
        With regions='given': class = id // divisor; None: the id is the class.
    preset
        A name of `PRESETS`, which the options given override.
    regions
        connected (made from classes; default) or given (the maps hold region ids).
    connectivity
        8 (default) or 4.
    absent
        nan (default) or zero: ROM, RUM, ROR, RUR and AP of a class without regions on one side.
    match
        iou (default) or dice: the overlap at which AP counts a region as found.
    """

def ap75(
    truth: Maps,
    prediction: Maps,
    classes: ClassList,
    *,
    background: int | None = None,
    void: VoidRule | int | tuple[int, ...] = "cut",
    divisor: int | None = None,
    preset: Preset | None = None,
    regions: RegionKind = "connected",
    connectivity: Connectivity = 8,
    absent: Absent = "nan",
    match: Match = "iou",
) -> float:
    """Return `ap75` of predicted maps against true ones: TP / (TP + FP) of predicted regions at IoU >= .75,
    of an image and class, without scores; connectivity=8, void=cut, absent=nan.

    Large is good; NaN is undefined. Images are combined as `measure` does. Source: Zhang et al. 2021.
    LabelMapError for maps that do not fit each other or the classes.

    Parameters
    ----------
    truth, prediction
        (I, H, W) maps of class ids, lists of (H, W), or one map (H, W): arrays or torch tensors.
    classes
        Classes, a built-in name, names or a number.
    background
        The id that forms no regions, for classes given as a number.
    void
        cut or bridge, as in `define`; or the void id or ids, for classes given as a number or as
        names.
    divisor
        With regions='given': class = id // divisor; None: the id is the class.
    preset
        A name of `PRESETS`, which the options given override.
    regions
        connected (made from classes; default) or given (the maps hold region ids).
    connectivity
        8 (default) or 4.
    absent
        nan (default) or zero: ROM, RUM, ROR, RUR and AP of a class without regions on one side.
    match
        iou (default) or dice: the overlap at which AP counts a region as found.
    """

def ap(
    truth: Maps,
    prediction: Maps,
    classes: ClassList,
    *,
    background: int | None = None,
    void: VoidRule | int | tuple[int, ...] = "cut",
    divisor: int | None = None,
    preset: Preset | None = None,
    regions: RegionKind = "connected",
    connectivity: Connectivity = 8,
    absent: Absent = "nan",
    match: Match = "iou",
) -> float:
    """Return `ap` of predicted maps against true ones: mean of TP / (TP + FP) at IoU >= .50:.05:.95, of an
    image and class, without scores; connectivity=8, void=cut, absent=nan.

    Large is good; NaN is undefined. Images are combined as `measure` does. Source: Zhang et al. 2021.
    LabelMapError for maps that do not fit each other or the classes.

    Parameters
    ----------
    truth, prediction
        (I, H, W) maps of class ids, lists of (H, W), or one map (H, W): arrays or torch tensors.
    classes
        Classes, a built-in name, names or a number.
    background
        The id that forms no regions, for classes given as a number.
    void
        cut or bridge, as in `define`; or the void id or ids, for classes given as a number or as
        names.
    divisor
        With regions='given': class = id // divisor; None: the id is the class.
    preset
        A name of `PRESETS`, which the options given override.
    regions
        connected (made from classes; default) or given (the maps hold region ids).
    connectivity
        8 (default) or 4.
    absent
        nan (default) or zero: ROM, RUM, ROR, RUR and AP of a class without regions on one side.
    match
        iou (default) or dice: the overlap at which AP counts a region as found.
    """

def missed(
    truth: Maps,
    prediction: Maps,
    classes: ClassList,
    *,
    background: int | None = None,
    void: VoidRule | int | tuple[int, ...] = "cut",
    divisor: int | None = None,
    preset: Preset | None = None,
    regions: RegionKind = "connected",
    connectivity: Connectivity = 8,
) -> float:
    """Return `missed` of predicted maps against true ones: share of true regions that no predicted region of
    their class touches; connectivity=8, void=cut.

    Small is good; NaN is undefined. Images are combined as `measure` does. LabelMapError for maps that do
    not fit each other or the classes.

    Parameters
    ----------
    truth, prediction
        (I, H, W) maps of class ids, lists of (H, W), or one map (H, W): arrays or torch tensors.
    classes
        Classes, a built-in name, names or a number.
    background
        The id that forms no regions, for classes given as a number.
    void
        cut or bridge, as in `define`; or the void id or ids, for classes given as a number or as
        names.
    divisor
        With regions='given': class = id // divisor; None: the id is the class.
    preset
        A name of `PRESETS`, which the options given override.
    regions
        connected (made from classes; default) or given (the maps hold region ids).
    connectivity
        8 (default) or 4.
    """

def invented(
    truth: Maps,
    prediction: Maps,
    classes: ClassList,
    *,
    background: int | None = None,
    void: VoidRule | int | tuple[int, ...] = "cut",
    divisor: int | None = None,
    preset: Preset | None = None,
    regions: RegionKind = "connected",
    connectivity: Connectivity = 8,
) -> float:
    """Return `invented` of predicted maps against true ones: share of predicted regions that touch no true
    region of their class; connectivity=8, void=cut.

    Small is good; NaN is undefined. Images are combined as `measure` does. LabelMapError for maps that do
    not fit each other or the classes.

    Parameters
    ----------
    truth, prediction
        (I, H, W) maps of class ids, lists of (H, W), or one map (H, W): arrays or torch tensors.
    classes
        Classes, a built-in name, names or a number.
    background
        The id that forms no regions, for classes given as a number.
    void
        cut or bridge, as in `define`; or the void id or ids, for classes given as a number or as
        names.
    divisor
        With regions='given': class = id // divisor; None: the id is the class.
    preset
        A name of `PRESETS`, which the options given override.
    regions
        connected (made from classes; default) or given (the maps hold region ids).
    connectivity
        8 (default) or 4.
    """

def boundary_f(
    truth: Maps,
    prediction: Maps,
    classes: ClassList,
    *,
    background: int | None = None,
    void: int | tuple[int, ...] = (),
    preset: Preset | None = None,
    tolerance: float = 0.0075,
) -> float:
    """Return `boundary_f` of predicted maps against true ones: boundary F-score at a tolerance of 0.0075
    (pixels from 1 on, else of the diagonal).

    Large is good; NaN is undefined. Images are combined as `measure` does. Source: Csurka et al. 2013.
    LabelMapError for maps that do not fit each other or the classes.

    Parameters
    ----------
    truth, prediction
        (I, H, W) maps of class ids, lists of (H, W), or one map (H, W): arrays or torch tensors.
    classes
        Classes, a built-in name, names or a number.
    background
        The id that forms no regions, for classes given as a number.
    void
        The void id or ids, for classes given as a number or as names.
    preset
        A name of `PRESETS`, which the options given override.
    tolerance
        Boundary F-score: pixels if 1 or more, else a share of the diagonal (default 0.0075).
    """

def cldice(
    truth: Maps,
    prediction: Maps,
    classes: ClassList,
    *,
    background: int | None = None,
    void: int | tuple[int, ...] = (),
    preset: Preset | None = None,
) -> float:
    """Return `cldice` of predicted maps against true ones: harmonic mean of the shares of the predicted
    centreline on the true class and of the true centreline on the predicted one, thinning by Guo and
    Hall.

    Large is good; NaN is undefined. Images are combined as `measure` does. Source: Shit et al. 2021.
    LabelMapError for maps that do not fit each other or the classes.

    Parameters
    ----------
    truth, prediction
        (I, H, W) maps of class ids, lists of (H, W), or one map (H, W): arrays or torch tensors.
    classes
        Classes, a built-in name, names or a number.
    background
        The id that forms no regions, for classes given as a number.
    void
        The void id or ids, for classes given as a number or as names.
    preset
        A name of `PRESETS`, which the options given override.
    """

def topology_precision(
    truth: Maps,
    prediction: Maps,
    classes: ClassList,
    *,
    background: int | None = None,
    void: int | tuple[int, ...] = (),
    preset: Preset | None = None,
) -> float:
    """Return `topology_precision` of predicted maps against true ones: share of the predicted centreline of
    a class that lies on its true pixels, thinning by Guo and Hall.

    Large is good; NaN is undefined. Images are combined as `measure` does. Source: Shit et al. 2021.
    LabelMapError for maps that do not fit each other or the classes.

    Parameters
    ----------
    truth, prediction
        (I, H, W) maps of class ids, lists of (H, W), or one map (H, W): arrays or torch tensors.
    classes
        Classes, a built-in name, names or a number.
    background
        The id that forms no regions, for classes given as a number.
    void
        The void id or ids, for classes given as a number or as names.
    preset
        A name of `PRESETS`, which the options given override.
    """

def topology_sensitivity(
    truth: Maps,
    prediction: Maps,
    classes: ClassList,
    *,
    background: int | None = None,
    void: int | tuple[int, ...] = (),
    preset: Preset | None = None,
) -> float:
    """Return `topology_sensitivity` of predicted maps against true ones: share of the true centreline of a
    class that lies on its predicted pixels, thinning by Guo and Hall.

    Large is good; NaN is undefined. Images are combined as `measure` does. Source: Shit et al. 2021.
    LabelMapError for maps that do not fit each other or the classes.

    Parameters
    ----------
    truth, prediction
        (I, H, W) maps of class ids, lists of (H, W), or one map (H, W): arrays or torch tensors.
    classes
        Classes, a built-in name, names or a number.
    background
        The id that forms no regions, for classes given as a number.
    void
        The void id or ids, for classes given as a number or as names.
    preset
        A name of `PRESETS`, which the options given override.
    """

def gce(
    truth: Maps,
    prediction: Maps,
    classes: ClassList,
    *,
    background: int | None = None,
    void: VoidRule | int | tuple[int, ...] = "cut",
    divisor: int | None = None,
    preset: Preset | None = None,
    regions: RegionKind = "connected",
    connectivity: Connectivity = 8,
) -> float:
    """Return `gce` of predicted maps against true ones: global consistency error (Zhang et al. 2021, eq. 2)
    of the partition into classes; per class: of the class against all else.

    Small is good; NaN is undefined. Images are combined as `measure` does. Source: Zhang et al. 2021, eq.
    1 and 2. LabelMapError for maps that do not fit each other or the classes.

    Parameters
    ----------
    truth, prediction
        (I, H, W) maps of class ids, lists of (H, W), or one map (H, W): arrays or torch tensors.
    classes
        Classes, a built-in name, names or a number.
    background
        The id that forms no regions, for classes given as a number.
    void
        cut or bridge, as in `define`; or the void id or ids, for classes given as a number or as
        names.
    divisor
        With regions='given': class = id // divisor; None: the id is the class.
    preset
        A name of `PRESETS`, which the options given override.
    regions
        connected (made from classes; default) or given (the maps hold region ids).
    connectivity
        8 (default) or 4.
    """

def lce(
    truth: Maps,
    prediction: Maps,
    classes: ClassList,
    *,
    background: int | None = None,
    void: VoidRule | int | tuple[int, ...] = "cut",
    divisor: int | None = None,
    preset: Preset | None = None,
    regions: RegionKind = "connected",
    connectivity: Connectivity = 8,
) -> float:
    """Return `lce` of predicted maps against true ones: local consistency error of the partition into
    classes; per class: of the class against all else.

    Small is good; NaN is undefined. Images are combined as `measure` does. Source: Martin et al. 2001.
    LabelMapError for maps that do not fit each other or the classes.

    Parameters
    ----------
    truth, prediction
        (I, H, W) maps of class ids, lists of (H, W), or one map (H, W): arrays or torch tensors.
    classes
        Classes, a built-in name, names or a number.
    background
        The id that forms no regions, for classes given as a number.
    void
        cut or bridge, as in `define`; or the void id or ids, for classes given as a number or as
        names.
    divisor
        With regions='given': class = id // divisor; None: the id is the class.
    preset
        A name of `PRESETS`, which the options given override.
    regions
        connected (made from classes; default) or given (the maps hold region ids).
    connectivity
        8 (default) or 4.
    """

def gce_regions(
    truth: Maps,
    prediction: Maps,
    classes: ClassList,
    *,
    background: int | None = None,
    void: VoidRule | int | tuple[int, ...] = "cut",
    divisor: int | None = None,
    preset: Preset | None = None,
    regions: RegionKind = "connected",
    connectivity: Connectivity = 8,
) -> float:
    """Return `gce_regions` of predicted maps against true ones: global consistency error of the partition
    into connected regions.

    Small is good; NaN is undefined. Images are combined as `measure` does. LabelMapError for maps that do
    not fit each other or the classes.

    Parameters
    ----------
    truth, prediction
        (I, H, W) maps of class ids, lists of (H, W), or one map (H, W): arrays or torch tensors.
    classes
        Classes, a built-in name, names or a number.
    background
        The id that forms no regions, for classes given as a number.
    void
        cut or bridge, as in `define`; or the void id or ids, for classes given as a number or as
        names.
    divisor
        With regions='given': class = id // divisor; None: the id is the class.
    preset
        A name of `PRESETS`, which the options given override.
    regions
        connected (made from classes; default) or given (the maps hold region ids).
    connectivity
        8 (default) or 4.
    """

def lce_regions(
    truth: Maps,
    prediction: Maps,
    classes: ClassList,
    *,
    background: int | None = None,
    void: VoidRule | int | tuple[int, ...] = "cut",
    divisor: int | None = None,
    preset: Preset | None = None,
    regions: RegionKind = "connected",
    connectivity: Connectivity = 8,
) -> float:
    """Return `lce_regions` of predicted maps against true ones: local consistency error of the partition
    into connected regions.

    Small is good; NaN is undefined. Images are combined as `measure` does. LabelMapError for maps that do
    not fit each other or the classes.

    Parameters
    ----------
    truth, prediction
        (I, H, W) maps of class ids, lists of (H, W), or one map (H, W): arrays or torch tensors.
    classes
        Classes, a built-in name, names or a number.
    background
        The id that forms no regions, for classes given as a number.
    void
        cut or bridge, as in `define`; or the void id or ids, for classes given as a number or as
        names.
    divisor
        With regions='given': class = id // divisor; None: the id is the class.
    preset
        A name of `PRESETS`, which the options given override.
    regions
        connected (made from classes; default) or given (the maps hold region ids).
    connectivity
        8 (default) or 4.
    """

def partition_distance(
    truth: Maps,
    prediction: Maps,
    classes: ClassList,
    *,
    background: int | None = None,
    void: VoidRule | int | tuple[int, ...] = "cut",
    divisor: int | None = None,
    preset: Preset | None = None,
    regions: RegionKind = "connected",
    connectivity: Connectivity = 8,
) -> float:
    """Return `partition_distance` of predicted maps against true ones: share of pixels to be moved until the
    partitions into connected regions are equal (optimal assignment).

    Small is good; NaN is undefined. Images are combined as `measure` does. LabelMapError for maps that do
    not fit each other or the classes.

    Parameters
    ----------
    truth, prediction
        (I, H, W) maps of class ids, lists of (H, W), or one map (H, W): arrays or torch tensors.
    classes
        Classes, a built-in name, names or a number.
    background
        The id that forms no regions, for classes given as a number.
    void
        cut or bridge, as in `define`; or the void id or ids, for classes given as a number or as
        names.
    divisor
        With regions='given': class = id // divisor; None: the id is the class.
    preset
        A name of `PRESETS`, which the options given override.
    regions
        connected (made from classes; default) or given (the maps hold region ids).
    connectivity
        8 (default) or 4.
    """

def variation_of_information(
    truth: Maps,
    prediction: Maps,
    classes: ClassList,
    *,
    background: int | None = None,
    void: VoidRule | int | tuple[int, ...] = "cut",
    divisor: int | None = None,
    preset: Preset | None = None,
    regions: RegionKind = "connected",
    connectivity: Connectivity = 8,
) -> float:
    """Return `variation_of_information` of predicted maps against true ones: H(T|P) + H(P|T) in bits, of the
    partitions into connected regions.

    Small is good; NaN is undefined. Images are combined as `measure` does. LabelMapError for maps that do
    not fit each other or the classes.

    Parameters
    ----------
    truth, prediction
        (I, H, W) maps of class ids, lists of (H, W), or one map (H, W): arrays or torch tensors.
    classes
        Classes, a built-in name, names or a number.
    background
        The id that forms no regions, for classes given as a number.
    void
        cut or bridge, as in `define`; or the void id or ids, for classes given as a number or as
        names.
    divisor
        With regions='given': class = id // divisor; None: the id is the class.
    preset
        A name of `PRESETS`, which the options given override.
    regions
        connected (made from classes; default) or given (the maps hold region ids).
    connectivity
        8 (default) or 4.
    """

def adapted_rand(
    truth: Maps,
    prediction: Maps,
    classes: ClassList,
    *,
    background: int | None = None,
    void: VoidRule | int | tuple[int, ...] = "cut",
    divisor: int | None = None,
    preset: Preset | None = None,
    regions: RegionKind = "connected",
    connectivity: Connectivity = 8,
) -> float:
    """Return `adapted_rand` of predicted maps against true ones: 1 - F score of pairs of pixels in one
    segment, of the partitions into connected regions.

    Small is good; NaN is undefined. Images are combined as `measure` does. LabelMapError for maps that do
    not fit each other or the classes.

    Parameters
    ----------
    truth, prediction
        (I, H, W) maps of class ids, lists of (H, W), or one map (H, W): arrays or torch tensors.
    classes
        Classes, a built-in name, names or a number.
    background
        The id that forms no regions, for classes given as a number.
    void
        cut or bridge, as in `define`; or the void id or ids, for classes given as a number or as
        names.
    divisor
        With regions='given': class = id // divisor; None: the id is the class.
    preset
        A name of `PRESETS`, which the options given override.
    regions
        connected (made from classes; default) or given (the maps hold region ids).
    connectivity
        8 (default) or 4.
    """
