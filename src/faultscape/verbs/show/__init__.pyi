from .signature import ShownText as ShownText
from .signature import Table as Table
from .signature import show as show
