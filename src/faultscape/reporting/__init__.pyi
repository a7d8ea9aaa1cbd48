from . import constraints as constraints
from . import figures as figures
from . import gallery as gallery
from . import outcomes as outcomes
from . import pages as pages
from . import references as references
