
from faultscape.stressors import Corruption

def darken(pixels, parameters, start):
    """pixels (H, W, C), uint8 or uint16; another array of the same shape and type comes back."""
    return pixels // parameters[0]

DARKEN = Corruption("darken", "Darken", "digital", ("divisor",), ((2,), (3,), (4,), (6,), (8,)), darken, random=False)
