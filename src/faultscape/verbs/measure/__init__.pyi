from .signature import Measured as Measured
from .signature import MeasuredShare as MeasuredShare
from .signature import measure as measure
