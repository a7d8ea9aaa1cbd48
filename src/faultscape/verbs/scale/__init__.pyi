from .signature import scale as scale
