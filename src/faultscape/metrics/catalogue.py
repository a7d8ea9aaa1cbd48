"""METRICS: every metric of `measure`, each a complete entry; everything that lists metrics reads it.

Conventions: ``compute(stats, definitions)`` computes the metric from statistics {name: array} made by
image_statistics and scores; NaN where undefined. ``join`` says how images are combined:

    pooled       counts of all images are added, then divided: stats (..., C) are sums, the result is (...)
    cells        mean over images of the mean over the classes defined there (Zhang et al. 2021, Table I):
                 stats (I, ...), the result (I, C)
    images       mean over images: stats (I, ...), the result (I,)

``per_class`` gives the values of each class, (..., C) for pooled metrics and (I, C) for the others, where
classes have their own. Pooled score metrics read {"score", "label"}, all pixels of a data set, with label 1
anomalous (or wrong), 0 not, 255 void; `measure` streams the same numbers where the entry is ``streamed``.
Score metrics joined over images read one image's pixels. Entries are in the order of measure.json.
Source: Yan et al. 2021, Zhang et al. 2021, Buchanan et al. 2022, Blum et al. 2021.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from faultscape.errors import MetricError
from faultscape.metrics import boundary, calibration, pixel, selective, skeletons
from faultscape.metrics import computations as make
from faultscape.metrics.metric import Metric
from faultscape.metrics.overlaps import over_under

GROUPS = (
    "pixels",
    "regions",
    "partitions",
    "boundaries",
    "centrelines",
    "anomaly scores",
    "confidence",
    "calibration",
)
CONNECTED = frozenset(["connected"])
BOUNDARIES = frozenset(["boundaries"])
MAPS = frozenset(["connected", "given"])
ANOMALY = frozenset(["anomaly"])
PROBABILITIES = frozenset(["probabilities"])
DOUBT = frozenset(["doubt", "confidence", "probabilities"])
CONFIDENCE = frozenset(["confidence", "probabilities"])


_PQ, _SQ, _RQ = (
    make.sums(of)
    for of in (over_under.panoptic_quality, over_under.segmentation_quality, over_under.recognition_quality)
)
_BAND = make.boundaries(boundary.boundary_iou)
_QUARTERS = (  # of regions and objects by size
    ("smallest", "smallest", ""),
    ("small", "second", " by size"),
    ("large", "third", " by size"),
    ("largest", "largest", ""),
)
# formulas of several metrics
_FOUND = r"\frac{|\{g \in Q : g\ \text{found}\}|}{|Q|}"
_AREA = r"\int_0^1 \mathrm{precision}\; \mathrm{d}\,\mathrm{recall}"
_ECE = r"\sum_b \frac{n_b}{n} \,\bigl|\mathrm{acc}_b - \mathrm{conf}_b\bigr|"
_OF_OVERLAP = r"\frac{TP_{%s}}{TP_{%s} + FP_{%s}}"
_OUTSIDE = r"E(g, s) = \frac{|g \setminus s|}{|g|}"

# fmt: off
METRICS: tuple[Metric, ...] = (
    Metric(
        "miou", title="mIoU error", says="1 − mean IoU", group="pixels", place=0, better="high",
        join="pooled", short="IoU error", needs=CONNECTED, options=("over", "pooling"), reads="both",
        of_pair=pixel.miou, compute=make.pixels(pixel.miou), per_class=make.classes(pixel.iou_of_classes),
        source="Yan et al. 2021, eq. 7", main=True, column=1, headline=1, neighbours="the mIoU",
        definition="mean over classes of intersection over union (Yan et al. 2021, eq. 7); over={over}",
        formula=r"\frac{1}{C} \sum_y \frac{N_{yy}}{N_{y\cdot} + N_{\cdot y} - N_{yy}}",
    ),
    Metric(
        "fwiou", title="FWIoU error", says="1 − frequency-weighted IoU", group="pixels", place=4,
        better="high", join="pooled", needs=CONNECTED, options=("pooling",), reads="both",
        of_pair=pixel.fwiou, compute=make.pixels(pixel.fwiou), source="Yan et al. 2021, eq. 9",
        definition="intersection over union weighted by the truth's class frequency (Yan et al. 2021, eq. 9"
            " with the frequency)",
        formula=r"\frac{\sum_y N_{y\cdot}\, \mathrm{IoU}_y}{\sum_y N_{y\cdot}}",
    ),
    Metric(
        "mpa", title="MPA error", says="1 − mean pixel accuracy", group="pixels", place=3, better="high",
        join="pooled", needs=CONNECTED, options=("over", "pooling"), reads="both", of_pair=pixel.mpa,
        compute=make.pixels(pixel.mpa), per_class=make.classes(pixel.accuracy_of_classes),
        source="Yan et al. 2021, eq. 10",
        definition="mean over classes of N_yy / N_y. (Yan et al. 2021, eq. 10); over={over}",
        formula=r"\frac{1}{C} \sum_y \frac{N_{yy}}{N_{y\cdot}}",
    ),
    Metric(
        "pixel_accuracy", title="Pixel error", says="1 − pixel accuracy", group="pixels", place=2,
        better="high", join="pooled", needs=CONNECTED, options=("pooling",), reads="both",
        of_pair=pixel.pixel_accuracy, compute=make.pixels(pixel.pixel_accuracy), main=True,
        definition="share of the truth's pixels that the prediction calls alike",
        formula=r"\frac{\sum_y N_{yy}}{\sum_y N_{y\cdot}}",
    ),
    Metric(
        "dice", title="Dice error", says="1 − mean Dice", group="pixels", place=1, better="high",
        join="pooled", needs=CONNECTED, options=("over", "pooling"), reads="both", of_pair=pixel.dice,
        compute=make.pixels(pixel.dice), per_class=make.classes(pixel.dice_of_classes), main=True,
        definition="mean over classes of 2 N_yy / (N_y. + N_.y); over={over}",
        formula=r"\frac{1}{C} \sum_y \frac{2 N_{yy}}{N_{y\cdot} + N_{\cdot y}}",
    ),
    Metric(
        "pq", title="PQ error", says="1 − panoptic quality", group="regions", place=11, better="high",
        join="pooled", short="PQ error", needs=MAPS, options=("regions", "connectivity", "pooling"),
        reads="pq_found", compute=make.mean(_PQ), per_class=_PQ, source="Kirillov et al. 2019", main=True,
        column=10, headline=3, definition="panoptic quality, the reference rule for void; {panoptic}",
        formula=r"\frac{\sum_{(g,s) \in TP} \mathrm{IoU}(g, s)}{|TP| + \frac12 |FP| + \frac12 |FN|}",
    ),
    Metric(
        "sq", title="SQ error", says="1 − segmentation quality", group="regions", place=12, better="high",
        join="pooled", needs=MAPS, options=("regions", "connectivity", "pooling"), reads="pq_found",
        compute=make.mean(_SQ), per_class=_SQ, source="Kirillov et al. 2019",
        definition="segmentation quality, the mean IoU of matched regions; {panoptic}",
        formula=r"\frac{1}{|TP|} \sum_{(g,s) \in TP} \mathrm{IoU}(g, s)",
    ),
    Metric(
        "rq", title="RQ error", says="1 − recognition quality", group="regions", place=13, better="high",
        join="pooled", needs=MAPS, options=("regions", "connectivity", "pooling"), reads="pq_found",
        compute=make.mean(_RQ), per_class=_RQ, source="Kirillov et al. 2019",
        definition="recognition quality, the F1 score of regions at IoU > .5; {panoptic}",
        formula=r"\frac{|TP|}{|TP| + \frac12 |FP| + \frac12 |FN|}",
    ),
    Metric(
        "boundary_iou", title="Boundary IoU error", says="1 − boundary IoU", group="boundaries", place=1,
        better="high", join="pooled", needs=BOUNDARIES, options=("band", "pooling"), reads="boundary",
        compute=make.mean(_BAND), per_class=_BAND, source="Cheng et al. 2021", main=True,
        definition="intersection over union of the bands inside the edges, width {band:g} (pixels from 1"
            " on, else of the diagonal)",
        formula=r"\frac{|(T_d \cap T) \cap (P_d \cap P)|}{|(T_d \cap T) \cup (P_d \cap P)|}",
    ),
    *(
        Metric(
            f"recall_{name}", title=f"Recall error, {name}",
            says=f"1 − recall of the {quarter} quarter of true regions{by}", group="regions", place=14 + k,
            better="high", join="pooled", needs=MAPS, options=("regions", "connectivity", "void", "pooling"),
            reads="region_sizes", compute=make.mean(make.quarter("region_sizes", k)),
            per_class=make.quarter("region_sizes", k), main=True, on_request=True, formula=_FOUND,
            definition=f"share found of the {quarter} quarter, by size, of a class's true regions in the data"
                " set: a predicted region at IoU > .5; {connected}",
        )
        for k, (name, quarter, by) in enumerate(_QUARTERS)
    ),
    Metric(
        "rom", title="ROM", says="regions torn apart", group="regions", place=0, better="low", join="cells",
        short="ROM", needs=MAPS, options=("regions", "connectivity", "void", "absent", "scale"),
        bounded=("tanh", "sigmoid"), reads="torn_truth", compute=make.scaled(over_under.rom),
        source="Zhang et al. 2021, eq. 6 and 7", main=True, column=2, headline=5, neighbours="the ROM",
        definition="region-wise over-segmentation measure, {scale}(ROR m_o) (Zhang et al. 2021, eq. 7);"
        " {regional}",
        formula=r"\tanh\bigl(\mathrm{ROR}\, m_o\bigr),\quad m_o = \sum_g \max(|\{s : s \cap g \neq "
            r"\emptyset\}| - 1, 0)",
    ),
    Metric(
        "rum", title="RUM", says="regions run together", group="regions", place=1, better="low", join="cells",
        short="RUM", needs=MAPS, options=("regions", "connectivity", "void", "absent", "scale"),
        bounded=("tanh", "sigmoid"), reads="torn_truth", compute=make.scaled(over_under.rum),
        source="Zhang et al. 2021, eq. 9 and 10", main=True, column=3,
        definition="region-wise under-segmentation measure, {scale}(RUR m_u) (Zhang et al. 2021, eq. 10);"
        " {regional}",
        formula=r"\tanh\bigl(\mathrm{RUR}\, m_u\bigr),\quad m_u = \sum_s \max(|\{g : g \cap s \neq "
            r"\emptyset\}| - 1, 0)",
    ),
    Metric(
        "ror", title="ROR", says="share of regions torn apart", group="regions", place=2, better="low",
        join="cells", short="ROR", needs=MAPS, options=("regions", "connectivity", "void", "absent"),
        reads="torn_truth", compute=make.absent(over_under.ror), source="Zhang et al. 2021, eq. 5", column=4,
        definition="region-wise over-segmentation ratio (Zhang et al. 2021, eq. 5); {regional}",
        formula=r"\frac{|G_O|\,|S_O|}{N M}",
    ),
    Metric(
        "rur", title="RUR", says="share of regions run together", group="regions", place=3, better="low",
        join="cells", short="RUR", needs=MAPS, options=("regions", "connectivity", "void", "absent"),
        reads="torn_truth", compute=make.absent(over_under.rur), source="Zhang et al. 2021, eq. 8", column=5,
        definition="region-wise under-segmentation ratio (Zhang et al. 2021, eq. 8); {regional}",
        formula=r"\frac{|G_U|\,|S_U|}{N M}",
    ),
    Metric(
        "pe_os", title="PE-OS", says="Persello's over-segmentation error", group="regions", place=6,
        better="low", join="cells", short="PE-OS", needs=MAPS,
        options=("regions", "connectivity", "void", "per"), reads="torn_truth",
        compute=make.per(over_under.pe_os), source="Persello and Bruzzone 2010", main=True, column=7,
        definition="Persello's over-segmentation error, mean over regions of the {per}; {connected}",
        formula=r"\frac{1}{N} \sum_g \Bigl(1 - \frac{|g \cap s_g|}{|g|}\Bigr),\quad s_g = \arg\max_s |g "
            r"\cap s|",
    ),
    Metric(
        "pe_us", title="PE-US", says="Persello's under-segmentation error", group="regions", place=7,
        better="low", join="cells", short="PE-US", needs=MAPS,
        options=("regions", "connectivity", "void", "per"), reads="torn_truth",
        compute=make.per(over_under.pe_us), source="Persello and Bruzzone 2010", main=True, column=8,
        definition="Persello's under-segmentation error, mean over regions of the {per}; {connected}",
        formula=r"\frac{1}{N} \sum_g \Bigl(1 - \frac{|g \cap s_g|}{|s_g|}\Bigr),\quad s_g = \arg\max_s |g "
            r"\cap s|",
    ),
    Metric(
        "ap50", title="AP50 error", says="1 − AP of regions at .50", group="regions", place=9, better="high",
        join="cells", needs=MAPS, options=("regions", "connectivity", "void", "match", "absent"),
        reads="torn_truth", compute=make.precision(0.5), source="Zhang et al. 2021",
        definition="TP / (TP + FP) of predicted regions at {match} >= .50, of an image and class, without"
            " scores; {connected}, absent={absent}",
        formula=_OF_OVERLAP % ("50", "50", "50"),
    ),
    Metric(
        "ap75", title="AP75 error", says="1 − AP of regions at .75", group="regions", place=10, better="high",
        join="cells", needs=MAPS, options=("regions", "connectivity", "void", "match", "absent"),
        reads="torn_truth", compute=make.precision(0.75), source="Zhang et al. 2021",
        definition="TP / (TP + FP) of predicted regions at {match} >= .75, of an image and class, without"
            " scores; {connected}, absent={absent}",
        formula=_OF_OVERLAP % ("75", "75", "75"),
    ),
    Metric(
        "ap", title="AP error", says="1 − AP of regions, .50:.05:.95, without scores", group="regions",
        place=8, better="high", join="cells", short="AP error", needs=MAPS,
        options=("regions", "connectivity", "void", "match", "absent"), reads="torn_truth",
        compute=make.precision(None), source="Zhang et al. 2021", main=True, column=9,
        definition="mean of TP / (TP + FP) at {match} >= .50:.05:.95, of an image and class, without scores;"
            " {connected}, absent={absent}",
        formula=r"\frac{1}{10} \sum_{t = .50, .55, \dots, .95} \frac{TP_t}{TP_t + FP_t}",
    ),
    Metric(
        "missed", title="Missed", says="true regions without any of their class upon them", group="regions",
        place=4, better="low", join="cells", needs=MAPS, options=("regions", "connectivity", "void"),
        reads="torn_truth", compute=make.sums(over_under.missed),
        definition="share of true regions that no predicted region of their class touches; {connected}",
        formula=r"\frac{|\{g : \text{no } s \text{ touches } g\}|}{N}",
    ),
    Metric(
        "invented", title="Invented", says="predicted regions where the truth has none of their class",
        group="regions", place=5, better="low", join="cells", needs=MAPS,
        options=("regions", "connectivity", "void"), reads="torn_truth",
        compute=make.sums(over_under.invented),
        definition="share of predicted regions that touch no true region of their class; {connected}",
        formula=r"\frac{|\{s : s \text{ touches no } g\}|}{M}",
    ),
    Metric(
        "boundary_f", title="Boundary F error", says="1 − boundary F-score", group="boundaries", place=0,
        better="high", join="cells", needs=BOUNDARIES, options=("tolerance",), reads="boundary",
        compute=make.boundaries(boundary.boundary_f), source="Csurka et al. 2013", main=True,
        definition="boundary F-score at a tolerance of {tolerance:g} (pixels from 1 on, else of the"
        " diagonal)",
        formula=r"\frac{2\, p\, r}{p + r},\quad p = \frac{|\{b \in \partial P : d(b, \partial T) \le "
            r"\tau\}|}{|\partial P|},\ r = \frac{|\{b \in \partial T : d(b, \partial P) \le "
            r"\tau\}|}{|\partial T|}",
    ),
    Metric(
        "cldice", title="clDice error", says="1 − centreline Dice", group="centrelines", place=0,
        better="high", join="cells", short="clDice error", column=18, needs=CONNECTED, reads="skeletons",
        compute=make.skeletons(skeletons.cldice), source="Shit et al. 2021", main=True, on_request=True,
        definition="harmonic mean of the shares of the predicted centreline on the true class and of the true"
            " centreline on the predicted one, thinning by Guo and Hall",
        formula=r"\frac{2\, T_p\, T_s}{T_p + T_s}",
    ),
    Metric(
        "topology_precision", title="Topology precision error",
        says="1 − share of the predicted centreline on the true class", group="centrelines", place=1,
        better="high", join="cells", needs=CONNECTED, reads="skeletons",
        compute=make.skeletons(skeletons.topology_precision), source="Shit et al. 2021", main=True,
        on_request=True,
        definition="share of the predicted centreline of a class that lies on its true pixels, thinning by"
            " Guo and Hall",
        formula=r"T_p = \frac{|\mathrm{skel}(P) \cap T|}{|\mathrm{skel}(P)|}",
    ),
    Metric(
        "topology_sensitivity", title="Topology sensitivity error",
        says="1 − share of the true centreline on the predicted class", group="centrelines", place=2,
        better="high", join="cells", needs=CONNECTED, reads="skeletons",
        compute=make.skeletons(skeletons.topology_sensitivity), source="Shit et al. 2021", main=True,
        on_request=True,
        definition="share of the true centreline of a class that lies on its predicted pixels, thinning by"
            " Guo and Hall",
        formula=r"T_s = \frac{|\mathrm{skel}(T) \cap P|}{|\mathrm{skel}(T)|}",
    ),
    Metric(
        "gce", title="GCE", says="global consistency error", group="partitions", place=0, better="low",
        join="images", short="GCE", needs=MAPS, options=("regions", "connectivity", "void"), reads="gce",
        compute=make.held("gce"), per_class=make.held("gce_of_classes"),
        source="Zhang et al. 2021, eq. 1 and 2", main=True, column=6,
        definition="global consistency error (Zhang et al. 2021, eq. 2) of the partition into {partition};"
            " per class: of the class against all else",
        formula=r"\frac{1}{n} \min\Bigl(\sum_i E(g_i, s_i),\ \sum_i E(s_i, g_i)\Bigr),\quad " + _OUTSIDE,
    ),
    Metric(
        "lce", title="LCE", says="local consistency error", group="partitions", place=1, better="low",
        join="images", needs=MAPS, options=("regions", "connectivity", "void"), reads="lce",
        compute=make.held("lce"), per_class=make.held("lce_of_classes"), source="Martin et al. 2001",
        definition="local consistency error of the partition into {partition}; per class: of the class"
            " against all else",
        formula=r"\frac{1}{n} \sum_i \min\bigl(E(g_i, s_i),\ E(s_i, g_i)\bigr),\quad " + _OUTSIDE,
    ),
    Metric(
        "gce_regions", title="GCE, regions", says="global consistency error of connected regions",
        group="partitions", place=2, better="low", join="images", needs=MAPS,
        options=("regions", "connectivity", "void"), reads="gce_regions", compute=make.held("gce_regions"),
        definition="global consistency error of the partition into {segments}",
        formula=r"\frac{1}{n} \min\Bigl(\sum_i E(g_i, s_i),\ \sum_i E(s_i, g_i)\Bigr),\quad " + _OUTSIDE,
    ),
    Metric(
        "lce_regions", title="LCE, regions", says="local consistency error of connected regions",
        group="partitions", place=3, better="low", join="images", needs=MAPS,
        options=("regions", "connectivity", "void"), reads="lce_regions", compute=make.held("lce_regions"),
        definition="local consistency error of the partition into {segments}",
        formula=r"\frac{1}{n} \sum_i \min\bigl(E(g_i, s_i),\ E(s_i, g_i)\bigr),\quad " + _OUTSIDE,
    ),
    Metric(
        "partition_distance", title="Part. distance", says="partition distance", group="partitions", place=4,
        better="low", join="images", needs=MAPS, options=("regions", "connectivity", "void"),
        reads="partition_distance", compute=make.held("partition_distance"), headline=4,
        definition="share of pixels to be moved until the partitions into {segments} are equal (optimal"
        " assignment)",
        formula=r"1 - \frac{1}{n} \max_\pi \sum_g |g \cap s_{\pi(g)}|",
    ),
    Metric(
        "variation_of_information", title="VI", says="variation of information, bits", group="partitions",
        place=5, better="low", join="images", needs=MAPS, options=("regions", "connectivity", "void"),
        most=math.inf, reads="variation_of_information", compute=make.held("variation_of_information"),
        definition="H(T|P) + H(P|T) in bits, of the partitions into {segments}",
        formula=r"H(T \mid P) + H(P \mid T)",
    ),
    Metric(
        "adapted_rand", title="ARand error", says="adapted Rand error", group="partitions", place=6,
        better="low", join="images", needs=MAPS, options=("regions", "connectivity", "void"),
        reads="adapted_rand", compute=make.held("adapted_rand"),
        definition="1 - F score of pairs of pixels in one segment, of the partitions into {segments}",
        formula=r"1 - \frac{2 \sum_{gs} n_{gs}^2}{\sum_g n_g^2 + \sum_s n_s^2}",
    ),
    Metric(
        "average_precision", title="AP error", says="1 − average precision of anomalous pixels",
        group="anomaly scores", place=0, better="high", join="pooled", short="AP error", needs=ANOMALY,
        options=("curve", "thresholds", "rounding", "pooling"), reads="score",
        compute=make.detected("average_precision"), source="Blum et al. 2021, section 3.3",
        streamed="average_precision", main=True, column=11, headline=2, neighbours="the AP",
        definition="area under precision and recall of anomalous pixels, {curve}, {thresholds} thresholds",
        formula=_AREA,
    ),
    Metric(
        "auroc", title="AUROC error", says="1 − AUROC of anomalous pixels", group="anomaly scores", place=1,
        better="high", join="pooled", short="AUROC error", needs=ANOMALY,
        options=("thresholds", "rounding", "pooling"), reads="score", compute=make.detected("auroc"),
        source="Blum et al. 2021, section 3.3", streamed="auroc", main=True, column=12, headline=6,
        definition="area under the ROC curve of anomalous pixels, {thresholds} thresholds",
        formula=r"P(s_{\text{anomalous}} > s_{\text{known}}) + \tfrac12 P(s_{\text{anomalous}} = "
            r"s_{\text{known}})",
    ),
    Metric(
        "fpr95", title="FPR95", says="false positive rate at 95 % recall", group="anomaly scores", place=2,
        better="low", join="pooled", short="FPR95", needs=ANOMALY,
        options=("fpr_rule", "thresholds", "rounding", "pooling"), reads="score",
        compute=make.detected("fpr95"), source="Blum et al. 2021, section 3.3", streamed="fpr95",
        shape="stepped", main=True, column=13,
        definition="false positive rate of anomalous pixels at the {rule} recall of .95, {thresholds}"
        " thresholds",
        formula=r"\mathrm{FPR}(t),\quad t = \max\{t : \mathrm{TPR}(t) \ge .95\}",
    ),
    Metric(
        "component_siou", title="sIoU error", says="1 − mean sIoU of components", group="anomaly scores",
        place=3, better="high", join="pooled", needs=ANOMALY, options=("track", "thresholds", "rounding"),
        reads="component_tp", compute=make.component("component_siou"), source="Chan et al. 2021", main=True,
        definition="mean sIoU of true components, SegmentMeIfYouCan; {at}; size limits: {track}",
        formula=r"\frac{1}{|K|} \sum_{k \in K} \mathrm{sIoU}(k),\quad \mathrm{sIoU}(k) = \frac{|k \cap \hat "
            r"K(k)|}{|(k \cup \hat K(k)) \setminus A(k)|}",
    ),
    Metric(
        "component_precision", title="PPV error", says="1 − mean precision of components",
        group="anomaly scores", place=4, better="high", join="pooled", needs=ANOMALY,
        options=("track", "thresholds", "rounding"), reads="component_tp",
        compute=make.component("component_precision"), source="Chan et al. 2021", main=True,
        definition="mean precision of predicted components, SegmentMeIfYouCan; size limits: {track}",
        formula=r"\frac{1}{|\hat K|} \sum_{\hat k \in \hat K} \frac{|\hat k \cap K|}{|\hat k|}",
    ),
    Metric(
        "component_f1", title="F1 error", says="1 − mean F1 of components", group="anomaly scores", place=5,
        better="high", join="pooled", short="F1 error", needs=ANOMALY,
        options=("track", "thresholds", "rounding"), reads="component_tp",
        compute=make.component("component_f1"), source="Chan et al. 2021", main=True, column=14,
        definition="F1 of components, mean over sIoU thresholds .25:.05:.75, SegmentMeIfYouCan; size"
        " limits: {track}",
        formula=r"\frac{1}{11} \sum_{\tau = .25, \dots, .75} \frac{2 TP_\tau}{2 TP_\tau + FN_\tau + FP_\tau}",
    ),
    Metric(
        "aupro", title="AUPRO error", says="1 − area under per-region overlap", group="anomaly scores",
        place=6, better="high", join="pooled", short="AUPRO error", needs=ANOMALY,
        options=("connectivity", "fpr_limit", "rounding"), reads="score", compute=make.overlap,
        source="Bergmann et al. 2021", streamed="aupro", of_groups=make.overlap_of_groups, main=True,
        column=17,
        definition="area under the mean overlap of true regions to a false positive rate of {fpr_limit:g},"
            " divided by it, all thresholds; connectivity={connectivity}",
        formula=r"\frac{1}{f} \int_0^f \frac{1}{|K|} \sum_{k \in K} \frac{|k \cap \{s \ge t\}|}{|k|}\, "
            r"\mathrm{d}\,\mathrm{FPR}(t)",
    ),
    *(
        Metric(
            f"object_recall_{name}", title=f"Object recall error, {name}",
            says=f"1 − recall of the {quarter} quarter of anomalous objects{by}", group="anomaly scores",
            place=7 + k, better="high", join="pooled", needs=ANOMALY,
            options=("connectivity", "alarm", "covered", "rounding"), reads="object_sizes",
            compute=make.quarter("object_sizes", k), formula=_FOUND,
            definition=f"share found of the {quarter} quarter, by size, of the data set's anomalous objects:"
                " {covered:g} of the pixels at a false positive rate of {alarm:g};"
                " connectivity={connectivity}",
        )
        for k, (name, quarter, by) in enumerate(_QUARTERS)
    ),
    Metric(
        "misclassification_ap", title="AP error, incorrect", says="1 − average precision of incorrect pixels",
        group="confidence", place=1, better="high", join="pooled", needs=DOUBT,
        options=("curve", "thresholds", "pooling"), reads="score", compute=make.detected("average_precision"),
        source="Buchanan et al. 2022, section 3", streamed="average_precision",
        definition="area under precision and recall of incorrect pixels by doubt, {curve}, {thresholds}"
            " thresholds; not comparable between models of unequal accuracy",
        formula=_AREA,
    ),
    Metric(
        "calibration_auroc", title="CalibrationAUC error", says="1 − AUROC of incorrect pixels against doubt",
        group="confidence", place=0, better="high", join="pooled", short="calib. error", needs=DOUBT,
        options=("thresholds", "pooling"), reads="score", compute=make.detected("auroc"),
        source="Buchanan et al. 2022, section 3", streamed="auroc", main=True, column=15,
        neighbours="the AUROC",
        definition="AUROC of incorrect pixels against doubt (Buchanan et al. 2022), {thresholds} thresholds",
        formula=r"P(d_{\text{wrong}} > d_{\text{right}}) + \tfrac12 P(d_{\text{wrong}} = d_{\text{right}})",
    ),
    Metric(
        "misclassification_fpr95", title="FPR95, incorrect",
        says="correct pixels doubted when 95 % of the incorrect are found", group="confidence", place=2,
        better="low", join="pooled", needs=DOUBT, options=("fpr_rule", "thresholds", "pooling"),
        reads="score", compute=make.detected("fpr95"), source="Buchanan et al. 2022, section 3",
        streamed="fpr95", shape="stepped", main=True,
        definition="share of correct pixels at or above the doubt that is the {rule} recall of .95 of the"
        " incorrect",
        formula=r"P(d_{\text{right}} \ge t),\quad t = \max\{t : P(d_{\text{wrong}} \ge t) \ge .95\}",
    ),
    Metric(
        "correct_ap", title="AP error, correct", says="1 − average precision of correct pixels",
        group="confidence", place=3, better="high", join="pooled", needs=DOUBT,
        options=("curve", "thresholds", "pooling"), reads="score",
        compute=make.detected("average_precision", -1), source="Buchanan et al. 2022, section 3",
        streamed="correct_ap",
        definition="area under precision and recall of correct pixels by confidence, {curve}, {thresholds}"
            " thresholds; not comparable between models of unequal accuracy",
        formula=_AREA,
    ),
    Metric(
        "aurc", title="AURC", says="area under risk and coverage", group="confidence", place=4, better="low",
        join="pooled", needs=DOUBT, reads="score", compute=make.risks(selective.aurc),
        source="Geifman and El-Yaniv 2017", streamed="aurc", of_groups=make.grouped(selective.aurc),
        main=True, definition="area under risk against coverage, ties as one group",
        formula=r"\int_0^1 \frac{\text{errors among the } \kappa n \text{ surest}}{\kappa n}\, "
            r"\mathrm{d}\kappa",
    ),
    Metric(
        "augrc", title="AUGRC", says="area under generalised risk and coverage", group="confidence", place=5,
        better="low", join="pooled", needs=DOUBT, reads="score", compute=make.risks(selective.augrc),
        source="Traub et al. 2024", streamed="augrc", of_groups=make.grouped(selective.augrc),
        definition="area under generalised risk against coverage",
        formula=r"\int_0^1 \frac{\text{errors among the } \kappa n \text{ surest}}{n}\, \mathrm{d}\kappa",
    ),
    Metric(
        "pavpu", title="PAvPU error", says="1 − share of windows accurate and certain, or neither",
        group="confidence", place=6, better="high", join="pooled", needs=DOUBT,
        options=("window", "certain", "accurate"), reads="windows", compute=make.windows(selective.pavpu),
        source="Buchanan et al. 2022, section 3; Mukhoti and Gal 2018",
        definition="share of windows accurate and certain, or inaccurate and uncertain; {window} x {window}"
            " pixels, doubt <= {certain:g}, right > {accurate:g}",
        formula=r"\frac{n_{ac} + n_{iu}}{n_{ac} + n_{au} + n_{ic} + n_{iu}}",
    ),
    Metric(
        "p_accurate_certain", title="p(acc. | certain) error", says="1 − p(accurate | certain)",
        group="confidence", place=7, better="high", join="pooled", needs=DOUBT,
        options=("window", "certain", "accurate"), reads="windows",
        compute=make.windows(selective.p_accurate_certain),
        source="Buchanan et al. 2022, section 3; Mukhoti and Gal 2018",
        definition="p(accurate | certain) of the same windows",
        formula=r"\frac{n_{ac}}{n_{ac} + n_{ic}}",
    ),
    Metric(
        "p_uncertain_inaccurate", title="p(unc. | inacc.) error", says="1 − p(uncertain | inaccurate)",
        group="confidence", place=8, better="high", join="pooled", needs=DOUBT,
        options=("window", "certain", "accurate"), reads="windows",
        compute=make.windows(selective.p_uncertain_inaccurate),
        source="Buchanan et al. 2022, section 3; Mukhoti and Gal 2018",
        definition="p(uncertain | inaccurate) of the same windows",
        formula=r"\frac{n_{iu}}{n_{ic} + n_{iu}}",
    ),
    Metric(
        "brier_top", title="Brier, top class", says="Brier score of the predicted class alone",
        group="calibration", place=5, better="low", join="pooled", needs=CONFIDENCE, reads="bin_count",
        compute=make.sums(calibration.brier_top), source="Buchanan et al. 2022, section 3", main=True,
        definition="mean over pixels of (confidence - right)^2",
        formula=r"\frac{1}{n} \sum_i \bigl(c_i - [\hat y_i = y_i]\bigr)^2",
    ),
    Metric(
        "brier", title="Brier", says="Brier score", group="calibration", place=4, better="low", join="pooled",
        needs=PROBABILITIES, most=2.0, reads="brier_sum", compute=make.judged(calibration.brier),
        source="Buchanan et al. 2022, section 3", main=True,
        definition="mean over pixels of the sum over classes of (p - y)^2",
        formula=r"\frac{1}{n} \sum_i \sum_k \bigl(p_{ik} - [k = y_i]\bigr)^2",
    ),
    Metric(
        "nll", title="NLL", says="negative log-likelihood, nats", group="calibration", place=6, better="low",
        join="pooled", needs=PROBABILITIES, most=math.inf, reads="brier_sum",
        compute=make.judged(calibration.nll), source="Buchanan et al. 2022, section 3", main=True,
        definition="mean of -log p of the true class, p not below 2^-149",
        formula=r"-\frac{1}{n} \sum_i \log p_{i y_i}",
    ),
    Metric(
        "ece", title="ECE", says="expected calibration error", group="calibration", place=0, better="low",
        join="pooled", short="ECE", needs=CONFIDENCE, options=("bins",), reads="bin_count",
        compute=make.sums(calibration.ece), source="Buchanan et al. 2022, section 3", shape="bent", main=True,
        column=16, definition="expected calibration error, {bins} bins of equal width, the last closed",
        formula=_ECE,
    ),
    Metric(
        "mce", title="MCE", says="largest calibration error of a bin", group="calibration", place=1,
        better="low", join="pooled", needs=CONFIDENCE, options=("bins",), reads="bin_count",
        compute=make.sums(calibration.mce), source="Buchanan et al. 2022, section 3", shape="bent",
        definition="largest gap of any of {bins} bins of equal width",
        formula=r"\max_b \,\bigl|\mathrm{acc}_b - \mathrm{conf}_b\bigr|",
    ),
    Metric(
        "ece_classwise", title="ECE, class-wise", says="mean over classes of the calibration error",
        group="calibration", place=3, better="low", join="pooled", needs=PROBABILITIES, options=("bins",),
        reads="class_count", compute=make.sums(calibration.ece_classwise),
        source="Buchanan et al. 2022, section 3", shape="bent",
        definition="mean over classes of each class's calibration error, {bins} bins of equal width",
        formula=r"\frac{1}{C} \sum_k \sum_b \frac{n_{bk}}{n} \,\bigl|\mathrm{freq}_{bk} - "
            r"\mathrm{conf}_{bk}\bigr|",
    ),
    Metric(
        "ece_equal_mass", title="ECE, equal mass", says="expected calibration error, bins of equal mass",
        group="calibration", place=2, better="low", join="pooled", needs=CONFIDENCE, options=("bins",),
        reads="fine", compute=make.equal_mass, source="Buchanan et al. 2022, section 3",
        of_groups=make.equal_mass_of_groups, shape="bent",
        definition="expected calibration error, {bins} bins of equal mass, cut between 65,536 fine bins",
        formula=_ECE,
    ),
)
# fmt: on
# the names that `select --concordance` accepts
CONCORDANCES = {metric.name: metric.of_pair for metric in METRICS if metric.of_pair}

# the names that `measure --metric` accepts
ON_REQUEST = {metric.name: metric for metric in METRICS if metric.on_request}
ALWAYS = frozenset(metric.name for metric in METRICS) - frozenset(ON_REQUEST)


def named(metrics: Sequence[Metric] = ()) -> dict[str, Metric]:
    """Return {name: entry} of all metrics, yours last; MetricError for a name that occurs twice."""
    out: dict[str, Metric] = {}
    for metric in (*METRICS, *metrics):
        if metric.name in out:
            raise MetricError(f"metric {metric.name!r}: this name is already taken; give yours another")
        out[metric.name] = metric
    return out
