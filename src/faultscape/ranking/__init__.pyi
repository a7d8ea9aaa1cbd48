from .standing import standings as standings
