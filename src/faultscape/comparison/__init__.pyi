from .concordance import accuracies as accuracies
from .concordance import concordances as concordances
from .concordance import shares as shares
from .counting import count as count
