from .signature import export as export
