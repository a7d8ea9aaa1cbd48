from . import discards as discards
from .catalogue import FORMATS as FORMATS
from .catalogue import BundleFormat as BundleFormat
from .catalogue import MaskFormat as MaskFormat
from .catalogue import PairFormat as PairFormat
from .catalogue import QuestionFormat as QuestionFormat
from .catalogue import TaskFormat as TaskFormat
from .label_tables import Lines as Lines
