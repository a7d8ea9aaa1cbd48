from .boxes import Box as Box
from .boxes import boxes_of_mask as boxes_of_mask
from .counts import confusions as confusions
from .counts import intersections as intersections
from .resize import nearest as nearest
from .runs import decode as decode
from .runs import encode as encode
