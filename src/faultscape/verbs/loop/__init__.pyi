from .signature import loop as loop
