from . import labelme as labelme
from . import png as png
from .label_maps import read_map as read_map
from .pictures import difference_hash as difference_hash
from .pictures import probe as probe
from .pictures import read_rgb as read_rgb
