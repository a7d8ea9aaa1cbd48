from .classes import resolve as resolve
from .duplicates import Groups as Groups
from .map_files import read_map as read_map
from .pictures import difference_hash as difference_hash
from .pictures import probe as probe
from .pictures import read_rgb as read_rgb
from .sources import find as find
