from .agreement import kendall as kendall
from .agreement import spearman as spearman
from .likelihood import connected as connected
from .matrices import aggressiveness as aggressiveness
from .matrices import resistance as resistance
from .standing import rank_accuracies as rank_accuracies
from .standing import standings as standings
