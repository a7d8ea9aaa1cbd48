from .duplicates import Groups as Groups
from .groups import cut_blocks as cut_blocks
from .groups import group_names as group_names
from .sources import find as find
