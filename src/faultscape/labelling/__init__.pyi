from . import discards as discards
from . import people as people
from .catalogue import FORMATS as FORMATS
from .catalogue import Format as Format
from .label_tables import Lines as Lines
