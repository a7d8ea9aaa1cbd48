from .pixel import dice as dice
from .pixel import fwiou as fwiou
from .pixel import miou as miou
from .pixel import mpa as mpa
from .pixel import pixel_accuracy as pixel_accuracy
