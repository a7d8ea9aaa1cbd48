from .signature import Reported as Reported
from .signature import report as report
