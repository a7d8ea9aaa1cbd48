from .signature import LabelPlan as LabelPlan
from .signature import plan as plan
