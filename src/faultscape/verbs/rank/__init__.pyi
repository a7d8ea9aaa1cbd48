from .signature import rank as rank
