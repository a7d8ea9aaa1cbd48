from .answers import Better as Better
from .answers import Case as Case
from .answers import Failures as Failures
from .signature import where_they_fail as where_they_fail
from .signature import which_is_better as which_is_better
