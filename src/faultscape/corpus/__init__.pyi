from .duplicates import Groups as Groups
from .groups import cut_blocks as cut_blocks
from .groups import group_names as group_names
from .objects.cutout_files import read_cutout as read_cutout
from .objects.cutout_files import write_cutout as write_cutout
from .objects.folder import ObjectFolder as ObjectFolder
from .objects.folder import read_cutouts as read_cutouts
from .sources import find as find
