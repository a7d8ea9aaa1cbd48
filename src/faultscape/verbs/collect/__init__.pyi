from .signature import collect as collect
