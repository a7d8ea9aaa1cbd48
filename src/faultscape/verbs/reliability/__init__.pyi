from .signature import Reliability as Reliability
from .signature import reliability as reliability
