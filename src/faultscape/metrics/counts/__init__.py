"""Metrics from counts: the functions of counts behind the metrics of maps and scores, which are called alike
(`metrics.miou` takes maps, `metrics.counts.miou` their counts).

Conventions: ``counts`` are those returned by the counting function of the file that defines a function, for
one image or summed over images; the last axis is that of classes.
"""

from faultscape.metrics.boundary import boundary_f as boundary_f
from faultscape.metrics.boundary import boundary_iou as boundary_iou
from faultscape.metrics.calibration import brier as brier
from faultscape.metrics.calibration import brier_top as brier_top
from faultscape.metrics.calibration import ece as ece
from faultscape.metrics.calibration import ece_classwise as ece_classwise
from faultscape.metrics.calibration import ece_equal_mass as ece_equal_mass
from faultscape.metrics.calibration import mce as mce
from faultscape.metrics.calibration import nll as nll
from faultscape.metrics.calibration import reliability as reliability
from faultscape.metrics.overlaps.components import component_metrics as component_metrics
from faultscape.metrics.overlaps.over_under import (
    average_precision_of_regions as average_precision_of_regions,
)
from faultscape.metrics.overlaps.over_under import extra_pieces as extra_pieces
from faultscape.metrics.overlaps.over_under import invented as invented
from faultscape.metrics.overlaps.over_under import missed as missed
from faultscape.metrics.overlaps.over_under import panoptic_quality as panoptic_quality
from faultscape.metrics.overlaps.over_under import pe_os as pe_os
from faultscape.metrics.overlaps.over_under import pe_us as pe_us
from faultscape.metrics.overlaps.over_under import recognition_quality as recognition_quality
from faultscape.metrics.overlaps.over_under import rom as rom
from faultscape.metrics.overlaps.over_under import ror as ror
from faultscape.metrics.overlaps.over_under import rum as rum
from faultscape.metrics.overlaps.over_under import rur as rur
from faultscape.metrics.overlaps.over_under import segmentation_quality as segmentation_quality
from faultscape.metrics.overlaps.partition import adapted_rand as adapted_rand
from faultscape.metrics.overlaps.partition import adapted_rand_parts as adapted_rand_parts
from faultscape.metrics.overlaps.partition import binary_cells as binary_cells
from faultscape.metrics.overlaps.partition import confusion_table as confusion_table
from faultscape.metrics.overlaps.partition import consistency_errors as consistency_errors
from faultscape.metrics.overlaps.partition import gce as gce
from faultscape.metrics.overlaps.partition import gce_cells as gce_cells
from faultscape.metrics.overlaps.partition import lce as lce
from faultscape.metrics.overlaps.partition import lce_cells as lce_cells
from faultscape.metrics.overlaps.partition import partition_distance as partition_distance
from faultscape.metrics.overlaps.partition import partition_errors as partition_errors
from faultscape.metrics.overlaps.partition import rand_index as rand_index
from faultscape.metrics.overlaps.partition import refinement_errors as refinement_errors
from faultscape.metrics.overlaps.partition import variation_of_information as variation_of_information
from faultscape.metrics.overlaps.partition import (
    variation_of_information_parts as variation_of_information_parts,
)
from faultscape.metrics.overlaps.recall_by_size import recall_of_quarter as recall_of_quarter
from faultscape.metrics.pixel import accuracy_of_classes as accuracy_of_classes
from faultscape.metrics.pixel import dice as dice
from faultscape.metrics.pixel import dice_of_classes as dice_of_classes
from faultscape.metrics.pixel import fwiou as fwiou
from faultscape.metrics.pixel import iou_of_classes as iou_of_classes
from faultscape.metrics.pixel import miou as miou
from faultscape.metrics.pixel import mpa as mpa
from faultscape.metrics.pixel import pixel_accuracy as pixel_accuracy
from faultscape.metrics.selective import augrc as augrc
from faultscape.metrics.selective import aurc as aurc
from faultscape.metrics.selective import p_accurate_certain as p_accurate_certain
from faultscape.metrics.selective import p_uncertain_inaccurate as p_uncertain_inaccurate
from faultscape.metrics.selective import pavpu as pavpu
from faultscape.metrics.selective import risk_coverage as risk_coverage
from faultscape.metrics.skeletons import cldice as cldice
from faultscape.metrics.skeletons import topology_precision as topology_precision
from faultscape.metrics.skeletons import topology_sensitivity as topology_sensitivity

__all__ = [
    "accuracy_of_classes",
    "adapted_rand",
    "adapted_rand_parts",
    "augrc",
    "aurc",
    "average_precision_of_regions",
    "binary_cells",
    "boundary_f",
    "boundary_iou",
    "brier",
    "brier_top",
    "cldice",
    "component_metrics",
    "confusion_table",
    "consistency_errors",
    "dice",
    "dice_of_classes",
    "ece",
    "ece_classwise",
    "ece_equal_mass",
    "extra_pieces",
    "fwiou",
    "gce",
    "gce_cells",
    "invented",
    "iou_of_classes",
    "lce",
    "lce_cells",
    "mce",
    "miou",
    "missed",
    "mpa",
    "nll",
    "p_accurate_certain",
    "p_uncertain_inaccurate",
    "panoptic_quality",
    "partition_distance",
    "partition_errors",
    "pavpu",
    "pe_os",
    "pe_us",
    "pixel_accuracy",
    "rand_index",
    "recall_of_quarter",
    "recognition_quality",
    "refinement_errors",
    "reliability",
    "risk_coverage",
    "rom",
    "ror",
    "rum",
    "rur",
    "segmentation_quality",
    "topology_precision",
    "topology_sensitivity",
    "variation_of_information",
    "variation_of_information_parts",
]
