"""Label values for losses: classes are 0..K-1. IGNORED pixels (void or withheld) count in no loss. OUTSIDE
pixels were void from the start, and losses that need pixels of no class use them.
"""

IGNORED = -100
OUTSIDE = -1
