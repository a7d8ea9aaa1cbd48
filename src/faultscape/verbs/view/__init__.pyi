from .signature import view as view
