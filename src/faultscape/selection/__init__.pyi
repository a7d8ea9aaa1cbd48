from .duel import duels as duels
from .quartiles import read_scale as read_scale
from .quartiles import scale as scale
from .spares import effective as effective
