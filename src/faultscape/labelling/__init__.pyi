from . import discards as discards
