from .signature import fit as fit
