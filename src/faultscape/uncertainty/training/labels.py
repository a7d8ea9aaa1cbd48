"""What a label says to a loss: a class is 0..K-1; IGNORED pixels count in none, which void and withheld ones
are; OUTSIDE ones were void from the start, and a loss that asks for pixels of no class sees them.
"""

IGNORED, OUTSIDE = -100, -1
