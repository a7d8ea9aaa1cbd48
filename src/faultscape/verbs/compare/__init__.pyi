from .signature import compare as compare
