from .signature import blend as blend
from .signature import corrupt as corrupt
from .signature import fog as fog
from .signature import holdout as holdout
from .signature import sheet as sheet
