from .signature import Ran as Ran
from .signature import run as run
