from . import discards as discards
from . import people as people
from .catalogue import FORMATS as FORMATS
from .catalogue import BundleFormat as BundleFormat
from .catalogue import MaskFormat as MaskFormat
from .catalogue import QuestionFormat as QuestionFormat
from .label_tables import Lines as Lines
