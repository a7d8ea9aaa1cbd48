from . import discards as discards
from . import labelme as labelme
from . import png as png
