# The functions of metrics as type checkers see them; written by scripts/metric_functions.py.

from typing import Literal

from faultscape.choices import Connectivity, Curve, FprRule, Pooling, Preset, Track
from faultscape.metrics.scores.region_overlap import Planes

def average_precision(
    score: Planes,
    anomaly: Planes,
    *,
    preset: Preset | None = None,
    pooling: Pooling = "pooled",
    curve: Curve = "step",
) -> float:
    """Return `average_precision` of scores of pixels: area under precision and recall of anomalous pixels,
    step, exact thresholds.

    Large is good; NaN is undefined. Images are combined as `measure` does. Source: Blum et al. 2021,
    section 3.3. MetricError for arrays that do not fit each other, NaN and other mask values.

    Parameters
    ----------
    score
        (I, H, W), lists of (H, W), or one (H, W): scores of pixels, large = anomalous.
    anomaly
        1 where a pixel is anomalous, 0 where it is not, 255 (void) where it does not count.
    preset
        A name of `PRESETS`, which the options given override.
    pooling
        How pixels and scores of several images are combined: pooled (default), per_image (a mean over
        images), or cells (a mean over all cells of an image and a class; metrics without classes as
        per_image).
    curve
        step (default) or trapezoid: the area under precision and recall.
    """

def auroc(
    score: Planes,
    anomaly: Planes,
    *,
    preset: Preset | None = None,
    pooling: Pooling = "pooled",
) -> float:
    """Return `auroc` of scores of pixels: area under the ROC curve of anomalous pixels, exact thresholds.

    Large is good; NaN is undefined. Images are combined as `measure` does. Source: Blum et al. 2021,
    section 3.3. MetricError for arrays that do not fit each other, NaN and other mask values.

    Parameters
    ----------
    score
        (I, H, W), lists of (H, W), or one (H, W): scores of pixels, large = anomalous.
    anomaly
        1 where a pixel is anomalous, 0 where it is not, 255 (void) where it does not count.
    preset
        A name of `PRESETS`, which the options given override.
    pooling
        How pixels and scores of several images are combined: pooled (default), per_image (a mean over
        images), or cells (a mean over all cells of an image and a class; metrics without classes as
        per_image).
    """

def fpr95(
    score: Planes,
    anomaly: Planes,
    *,
    preset: Preset | None = None,
    pooling: Pooling = "pooled",
    fpr_rule: FprRule = "first",
) -> float:
    """Return `fpr95` of scores of pixels: false positive rate of anomalous pixels at the first threshold
    with recall of .95, exact thresholds.

    Small is good; NaN is undefined. Images are combined as `measure` does. Source: Blum et al. 2021,
    section 3.3. MetricError for arrays that do not fit each other, NaN and other mask values.

    Parameters
    ----------
    score
        (I, H, W), lists of (H, W), or one (H, W): scores of pixels, large = anomalous.
    anomaly
        1 where a pixel is anomalous, 0 where it is not, 255 (void) where it does not count.
    preset
        A name of `PRESETS`, which the options given override.
    pooling
        How pixels and scores of several images are combined: pooled (default), per_image (a mean over
        images), or cells (a mean over all cells of an image and a class; metrics without classes as
        per_image).
    fpr_rule
        first (default: the first threshold with recall of .95) or closest (the lowest of all
        thresholds closest to it).
    """

def component_siou(
    score: Planes,
    anomaly: Planes,
    *,
    preset: Preset | None = None,
    track: Track | Literal[""] = "",
) -> float:
    """Return `component_siou` of scores of pixels: mean sIoU of true components, SegmentMeIfYouCan; score >=
    that of the best pixel F1, exact thresholds; size limits: none.

    Large is good; NaN is undefined. Images are combined as `measure` does. Source: Chan et al. 2021.
    MetricError for arrays that do not fit each other, NaN and other mask values.

    Parameters
    ----------
    score
        (I, H, W), lists of (H, W), or one (H, W): scores of pixels, large = anomalous.
    anomaly
        1 where a pixel is anomalous, 0 where it is not, 255 (void) where it does not count.
    preset
        A name of `PRESETS`, which the options given override.
    track
        anomaly or obstacle: size limits of SegmentMeIfYouCan's component metrics; default none.
    """

def component_precision(
    score: Planes,
    anomaly: Planes,
    *,
    preset: Preset | None = None,
    track: Track | Literal[""] = "",
) -> float:
    """Return `component_precision` of scores of pixels: mean precision of predicted components,
    SegmentMeIfYouCan; size limits: none.

    Large is good; NaN is undefined. Images are combined as `measure` does. Source: Chan et al. 2021.
    MetricError for arrays that do not fit each other, NaN and other mask values.

    Parameters
    ----------
    score
        (I, H, W), lists of (H, W), or one (H, W): scores of pixels, large = anomalous.
    anomaly
        1 where a pixel is anomalous, 0 where it is not, 255 (void) where it does not count.
    preset
        A name of `PRESETS`, which the options given override.
    track
        anomaly or obstacle: size limits of SegmentMeIfYouCan's component metrics; default none.
    """

def component_f1(
    score: Planes,
    anomaly: Planes,
    *,
    preset: Preset | None = None,
    track: Track | Literal[""] = "",
) -> float:
    """Return `component_f1` of scores of pixels: F1 of components, mean over sIoU thresholds .25:.05:.75,
    SegmentMeIfYouCan; size limits: none.

    Large is good; NaN is undefined. Images are combined as `measure` does. Source: Chan et al. 2021.
    MetricError for arrays that do not fit each other, NaN and other mask values.

    Parameters
    ----------
    score
        (I, H, W), lists of (H, W), or one (H, W): scores of pixels, large = anomalous.
    anomaly
        1 where a pixel is anomalous, 0 where it is not, 255 (void) where it does not count.
    preset
        A name of `PRESETS`, which the options given override.
    track
        anomaly or obstacle: size limits of SegmentMeIfYouCan's component metrics; default none.
    """

def aupro(
    score: Planes,
    anomaly: Planes,
    *,
    preset: Preset | None = None,
    connectivity: Connectivity = 8,
    fpr_limit: float = 0.3,
) -> float:
    """Return `aupro` of scores of pixels: area under the mean overlap of true regions to a false positive
    rate of 0.3, divided by it, all thresholds; connectivity=8.

    Large is good; NaN is undefined. Images are combined as `measure` does. Source: Bergmann et al. 2021.
    MetricError for arrays that do not fit each other, NaN and other mask values.

    Parameters
    ----------
    score
        (I, H, W), lists of (H, W), or one (H, W): scores of pixels, large = anomalous.
    anomaly
        1 where a pixel is anomalous, 0 where it is not, 255 (void) where it does not count.
    preset
        A name of `PRESETS`, which the options given override.
    connectivity
        8 (default) or 4.
    fpr_limit
        AUPRO: the false positive rate up to which the area is measured (default 0.3).
    """

def object_recall_smallest(
    score: Planes,
    anomaly: Planes,
    *,
    preset: Preset | None = None,
    connectivity: Connectivity = 8,
    alarm: float = 0.05,
    covered: float = 0.5,
) -> float:
    """Return `object_recall_smallest` of scores of pixels: share found of the smallest quarter, by size, of
    the data set's anomalous objects: 0.5 of the pixels at a false positive rate of 0.05; connectivity=8.

    Large is good; NaN is undefined. Images are combined as `measure` does. MetricError for arrays that do
    not fit each other, NaN and other mask values.

    Parameters
    ----------
    score
        (I, H, W), lists of (H, W), or one (H, W): scores of pixels, large = anomalous.
    anomaly
        1 where a pixel is anomalous, 0 where it is not, 255 (void) where it does not count.
    preset
        A name of `PRESETS`, which the options given override.
    connectivity
        8 (default) or 4.
    alarm
        Recall of anomalous objects by size: the false positive rate of its threshold (default 0.05).
    covered
        The same: the share of an object's pixels above the threshold for it to count as found
        (default 0.5).
    """

def object_recall_small(
    score: Planes,
    anomaly: Planes,
    *,
    preset: Preset | None = None,
    connectivity: Connectivity = 8,
    alarm: float = 0.05,
    covered: float = 0.5,
) -> float:
    """Return `object_recall_small` of scores of pixels: share found of the second quarter, by size, of the
    data set's anomalous objects: 0.5 of the pixels at a false positive rate of 0.05; connectivity=8.

    Large is good; NaN is undefined. Images are combined as `measure` does. MetricError for arrays that do
    not fit each other, NaN and other mask values.

    Parameters
    ----------
    score
        (I, H, W), lists of (H, W), or one (H, W): scores of pixels, large = anomalous.
    anomaly
        1 where a pixel is anomalous, 0 where it is not, 255 (void) where it does not count.
    preset
        A name of `PRESETS`, which the options given override.
    connectivity
        8 (default) or 4.
    alarm
        Recall of anomalous objects by size: the false positive rate of its threshold (default 0.05).
    covered
        The same: the share of an object's pixels above the threshold for it to count as found
        (default 0.5).
    """

def object_recall_large(
    score: Planes,
    anomaly: Planes,
    *,
    preset: Preset | None = None,
    connectivity: Connectivity = 8,
    alarm: float = 0.05,
    covered: float = 0.5,
) -> float:
    """Return `object_recall_large` of scores of pixels: share found of the third quarter, by size, of the
    data set's anomalous objects: 0.5 of the pixels at a false positive rate of 0.05; connectivity=8.

    Large is good; NaN is undefined. Images are combined as `measure` does. MetricError for arrays that do
    not fit each other, NaN and other mask values.

    Parameters
    ----------
    score
        (I, H, W), lists of (H, W), or one (H, W): scores of pixels, large = anomalous.
    anomaly
        1 where a pixel is anomalous, 0 where it is not, 255 (void) where it does not count.
    preset
        A name of `PRESETS`, which the options given override.
    connectivity
        8 (default) or 4.
    alarm
        Recall of anomalous objects by size: the false positive rate of its threshold (default 0.05).
    covered
        The same: the share of an object's pixels above the threshold for it to count as found
        (default 0.5).
    """

def object_recall_largest(
    score: Planes,
    anomaly: Planes,
    *,
    preset: Preset | None = None,
    connectivity: Connectivity = 8,
    alarm: float = 0.05,
    covered: float = 0.5,
) -> float:
    """Return `object_recall_largest` of scores of pixels: share found of the largest quarter, by size, of
    the data set's anomalous objects: 0.5 of the pixels at a false positive rate of 0.05; connectivity=8.

    Large is good; NaN is undefined. Images are combined as `measure` does. MetricError for arrays that do
    not fit each other, NaN and other mask values.

    Parameters
    ----------
    score
        (I, H, W), lists of (H, W), or one (H, W): scores of pixels, large = anomalous.
    anomaly
        1 where a pixel is anomalous, 0 where it is not, 255 (void) where it does not count.
    preset
        A name of `PRESETS`, which the options given override.
    connectivity
        8 (default) or 4.
    alarm
        Recall of anomalous objects by size: the false positive rate of its threshold (default 0.05).
    covered
        The same: the share of an object's pixels above the threshold for it to count as found
        (default 0.5).
    """

def misclassification_ap(
    doubt: Planes,
    incorrect: Planes,
    *,
    preset: Preset | None = None,
    pooling: Pooling = "pooled",
    curve: Curve = "step",
) -> float:
    """Return `misclassification_ap` of doubt of pixels: area under precision and recall of incorrect pixels
    by doubt, step, exact thresholds; not comparable between models of unequal accuracy.

    Large is good; NaN is undefined. Images are combined as `measure` does. Source: Buchanan et al. 2022,
    section 3. MetricError for arrays that do not fit each other, NaN and other mask values.

    Parameters
    ----------
    doubt
        (I, H, W), lists of (H, W), or one (H, W): doubt of pixels, large = doubtful.
    incorrect
        1 where the prediction is wrong, 0 where it is right, 255 (void) where it does not count.
    preset
        A name of `PRESETS`, which the options given override.
    pooling
        How pixels and scores of several images are combined: pooled (default), per_image (a mean over
        images), or cells (a mean over all cells of an image and a class; metrics without classes as
        per_image).
    curve
        step (default) or trapezoid: the area under precision and recall.
    """

def calibration_auroc(
    doubt: Planes,
    incorrect: Planes,
    *,
    preset: Preset | None = None,
    pooling: Pooling = "pooled",
) -> float:
    """Return `calibration_auroc` of doubt of pixels: AUROC of incorrect pixels against doubt (Buchanan et
    al. 2022), exact thresholds.

    Large is good; NaN is undefined. Images are combined as `measure` does. Source: Buchanan et al. 2022,
    section 3. MetricError for arrays that do not fit each other, NaN and other mask values.

    Parameters
    ----------
    doubt
        (I, H, W), lists of (H, W), or one (H, W): doubt of pixels, large = doubtful.
    incorrect
        1 where the prediction is wrong, 0 where it is right, 255 (void) where it does not count.
    preset
        A name of `PRESETS`, which the options given override.
    pooling
        How pixels and scores of several images are combined: pooled (default), per_image (a mean over
        images), or cells (a mean over all cells of an image and a class; metrics without classes as
        per_image).
    """

def misclassification_fpr95(
    doubt: Planes,
    incorrect: Planes,
    *,
    preset: Preset | None = None,
    pooling: Pooling = "pooled",
    fpr_rule: FprRule = "first",
) -> float:
    """Return `misclassification_fpr95` of doubt of pixels: share of correct pixels at or above the doubt
    that is the first threshold with recall of .95 of the incorrect.

    Small is good; NaN is undefined. Images are combined as `measure` does. Source: Buchanan et al. 2022,
    section 3. MetricError for arrays that do not fit each other, NaN and other mask values.

    Parameters
    ----------
    doubt
        (I, H, W), lists of (H, W), or one (H, W): doubt of pixels, large = doubtful.
    incorrect
        1 where the prediction is wrong, 0 where it is right, 255 (void) where it does not count.
    preset
        A name of `PRESETS`, which the options given override.
    pooling
        How pixels and scores of several images are combined: pooled (default), per_image (a mean over
        images), or cells (a mean over all cells of an image and a class; metrics without classes as
        per_image).
    fpr_rule
        first (default: the first threshold with recall of .95) or closest (the lowest of all
        thresholds closest to it).
    """

def correct_ap(
    doubt: Planes,
    incorrect: Planes,
    *,
    preset: Preset | None = None,
    pooling: Pooling = "pooled",
    curve: Curve = "step",
) -> float:
    """Return `correct_ap` of doubt of pixels: area under precision and recall of correct pixels by
    confidence, step, exact thresholds; not comparable between models of unequal accuracy.

    Large is good; NaN is undefined. Images are combined as `measure` does. Source: Buchanan et al. 2022,
    section 3. MetricError for arrays that do not fit each other, NaN and other mask values.

    Parameters
    ----------
    doubt
        (I, H, W), lists of (H, W), or one (H, W): doubt of pixels, large = doubtful.
    incorrect
        1 where the prediction is wrong, 0 where it is right, 255 (void) where it does not count.
    preset
        A name of `PRESETS`, which the options given override.
    pooling
        How pixels and scores of several images are combined: pooled (default), per_image (a mean over
        images), or cells (a mean over all cells of an image and a class; metrics without classes as
        per_image).
    curve
        step (default) or trapezoid: the area under precision and recall.
    """

def aurc(
    doubt: Planes,
    incorrect: Planes,
    *,
    preset: Preset | None = None,
) -> float:
    """Return `aurc` of doubt of pixels: area under risk against coverage, ties as one group.

    Small is good; NaN is undefined. Images are combined as `measure` does. Source: Geifman and El-Yaniv
    2017. MetricError for arrays that do not fit each other, NaN and other mask values.

    Parameters
    ----------
    doubt
        (I, H, W), lists of (H, W), or one (H, W): doubt of pixels, large = doubtful.
    incorrect
        1 where the prediction is wrong, 0 where it is right, 255 (void) where it does not count.
    preset
        A name of `PRESETS`, which the options given override.
    """

def augrc(
    doubt: Planes,
    incorrect: Planes,
    *,
    preset: Preset | None = None,
) -> float:
    """Return `augrc` of doubt of pixels: area under generalised risk against coverage.

    Small is good; NaN is undefined. Images are combined as `measure` does. Source: Traub et al. 2024.
    MetricError for arrays that do not fit each other, NaN and other mask values.

    Parameters
    ----------
    doubt
        (I, H, W), lists of (H, W), or one (H, W): doubt of pixels, large = doubtful.
    incorrect
        1 where the prediction is wrong, 0 where it is right, 255 (void) where it does not count.
    preset
        A name of `PRESETS`, which the options given override.
    """

def pavpu(
    doubt: Planes,
    incorrect: Planes,
    *,
    preset: Preset | None = None,
    window: int = 2,
    certain: float = 0.5,
    accurate: float = 0.5,
) -> float:
    """Return `pavpu` of doubt of pixels: share of windows accurate and certain, or inaccurate and uncertain;
    2 x 2 pixels, doubt <= 0.5, right > 0.5.

    Large is good; NaN is undefined. Images are combined as `measure` does. Source: Buchanan et al. 2022,
    section 3; Mukhoti and Gal 2018. MetricError for arrays that do not fit each other, NaN and other mask
    values.

    Parameters
    ----------
    doubt
        (I, H, W), lists of (H, W), or one (H, W): doubt of pixels, large = doubtful.
    incorrect
        1 where the prediction is wrong, 0 where it is right, 255 (void) where it does not count.
    preset
        A name of `PRESETS`, which the options given override.
    window
        Side of PAvPU's windows, in pixels (default 2).
    certain
        PAvPU: a window is certain up to this mean doubt (default 0.5).
    accurate
        PAvPU: a window is accurate above this share of right pixels (default 0.5).
    """

def p_accurate_certain(
    doubt: Planes,
    incorrect: Planes,
    *,
    preset: Preset | None = None,
    window: int = 2,
    certain: float = 0.5,
    accurate: float = 0.5,
) -> float:
    """Return `p_accurate_certain` of doubt of pixels: p(accurate | certain) of the same windows.

    Large is good; NaN is undefined. Images are combined as `measure` does. Source: Buchanan et al. 2022,
    section 3; Mukhoti and Gal 2018. MetricError for arrays that do not fit each other, NaN and other mask
    values.

    Parameters
    ----------
    doubt
        (I, H, W), lists of (H, W), or one (H, W): doubt of pixels, large = doubtful.
    incorrect
        1 where the prediction is wrong, 0 where it is right, 255 (void) where it does not count.
    preset
        A name of `PRESETS`, which the options given override.
    window
        Side of PAvPU's windows, in pixels (default 2).
    certain
        PAvPU: a window is certain up to this mean doubt (default 0.5).
    accurate
        PAvPU: a window is accurate above this share of right pixels (default 0.5).
    """

def p_uncertain_inaccurate(
    doubt: Planes,
    incorrect: Planes,
    *,
    preset: Preset | None = None,
    window: int = 2,
    certain: float = 0.5,
    accurate: float = 0.5,
) -> float:
    """Return `p_uncertain_inaccurate` of doubt of pixels: p(uncertain | inaccurate) of the same windows.

    Large is good; NaN is undefined. Images are combined as `measure` does. Source: Buchanan et al. 2022,
    section 3; Mukhoti and Gal 2018. MetricError for arrays that do not fit each other, NaN and other mask
    values.

    Parameters
    ----------
    doubt
        (I, H, W), lists of (H, W), or one (H, W): doubt of pixels, large = doubtful.
    incorrect
        1 where the prediction is wrong, 0 where it is right, 255 (void) where it does not count.
    preset
        A name of `PRESETS`, which the options given override.
    window
        Side of PAvPU's windows, in pixels (default 2).
    certain
        PAvPU: a window is certain up to this mean doubt (default 0.5).
    accurate
        PAvPU: a window is accurate above this share of right pixels (default 0.5).
    """

def brier_top(
    confidence: Planes,
    incorrect: Planes,
    *,
    preset: Preset | None = None,
) -> float:
    """Return `brier_top` of probabilities of the predicted class: mean over pixels of (confidence -
    right)^2.

    Small is good; NaN is undefined. Images are combined as `measure` does. Source: Buchanan et al. 2022,
    section 3. MetricError for arrays that do not fit each other, NaN and other mask values.

    Parameters
    ----------
    confidence
        (I, H, W), lists of (H, W), or one (H, W): probabilities of the predicted class, 0 to 1.
    incorrect
        1 where the prediction is wrong, 0 where it is right, 255 (void) where it does not count.
    preset
        A name of `PRESETS`, which the options given override.
    """

def brier(
    probabilities: Planes,
    truth: Planes,
    *,
    preset: Preset | None = None,
) -> float:
    """Return `brier` of probabilities of all classes: mean over pixels of the sum over classes of (p - y)^2.

    Small is good; NaN is undefined. Images are combined as `measure` does. Source: Buchanan et al. 2022,
    section 3. MetricError for arrays that do not fit each other, NaN and other mask values.

    Parameters
    ----------
    probabilities
        probabilities of all classes, (I, C, H, W).
    truth
        The true channel of each pixel, 0 to C - 1, or 255 (void) where it does not count.
    preset
        A name of `PRESETS`, which the options given override.
    """

def nll(
    probabilities: Planes,
    truth: Planes,
    *,
    preset: Preset | None = None,
) -> float:
    """Return `nll` of probabilities of all classes: mean of -log p of the true class, p not below 2^-149.

    Small is good; NaN is undefined. Images are combined as `measure` does. Source: Buchanan et al. 2022,
    section 3. MetricError for arrays that do not fit each other, NaN and other mask values.

    Parameters
    ----------
    probabilities
        probabilities of all classes, (I, C, H, W).
    truth
        The true channel of each pixel, 0 to C - 1, or 255 (void) where it does not count.
    preset
        A name of `PRESETS`, which the options given override.
    """

def ece(
    confidence: Planes,
    incorrect: Planes,
    *,
    preset: Preset | None = None,
    bins: int = 15,
) -> float:
    """Return `ece` of probabilities of the predicted class: expected calibration error, 15 bins of equal
    width, the last closed.

    Small is good; NaN is undefined. Images are combined as `measure` does. Source: Buchanan et al. 2022,
    section 3. MetricError for arrays that do not fit each other, NaN and other mask values.

    Parameters
    ----------
    confidence
        (I, H, W), lists of (H, W), or one (H, W): probabilities of the predicted class, 0 to 1.
    incorrect
        1 where the prediction is wrong, 0 where it is right, 255 (void) where it does not count.
    preset
        A name of `PRESETS`, which the options given override.
    bins
        Bins of ECE and the reliability diagram (default 15).
    """

def mce(
    confidence: Planes,
    incorrect: Planes,
    *,
    preset: Preset | None = None,
    bins: int = 15,
) -> float:
    """Return `mce` of probabilities of the predicted class: largest gap of any of 15 bins of equal width.

    Small is good; NaN is undefined. Images are combined as `measure` does. Source: Buchanan et al. 2022,
    section 3. MetricError for arrays that do not fit each other, NaN and other mask values.

    Parameters
    ----------
    confidence
        (I, H, W), lists of (H, W), or one (H, W): probabilities of the predicted class, 0 to 1.
    incorrect
        1 where the prediction is wrong, 0 where it is right, 255 (void) where it does not count.
    preset
        A name of `PRESETS`, which the options given override.
    bins
        Bins of ECE and the reliability diagram (default 15).
    """

def ece_classwise(
    probabilities: Planes,
    truth: Planes,
    *,
    preset: Preset | None = None,
    bins: int = 15,
) -> float:
    """Return `ece_classwise` of probabilities of all classes: mean over classes of each class's calibration
    error, 15 bins of equal width.

    Small is good; NaN is undefined. Images are combined as `measure` does. Source: Buchanan et al. 2022,
    section 3. MetricError for arrays that do not fit each other, NaN and other mask values.

    Parameters
    ----------
    probabilities
        probabilities of all classes, (I, C, H, W).
    truth
        The true channel of each pixel, 0 to C - 1, or 255 (void) where it does not count.
    preset
        A name of `PRESETS`, which the options given override.
    bins
        Bins of ECE and the reliability diagram (default 15).
    """

def ece_equal_mass(
    confidence: Planes,
    incorrect: Planes,
    *,
    preset: Preset | None = None,
    bins: int = 15,
) -> float:
    """Return `ece_equal_mass` of probabilities of the predicted class: expected calibration error, 15 bins
    of equal mass, cut between 65,536 fine bins.

    Small is good; NaN is undefined. Images are combined as `measure` does. Source: Buchanan et al. 2022,
    section 3. MetricError for arrays that do not fit each other, NaN and other mask values.

    Parameters
    ----------
    confidence
        (I, H, W), lists of (H, W), or one (H, W): probabilities of the predicted class, 0 to 1.
    incorrect
        1 where the prediction is wrong, 0 where it is right, 255 (void) where it does not count.
    preset
        A name of `PRESETS`, which the options given override.
    bins
        Bins of ECE and the reliability diagram (default 15).
    """
