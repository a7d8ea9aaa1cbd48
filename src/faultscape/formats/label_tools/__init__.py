"""Files of labelling tools, one format per module: written with model predictions, read with people's labels,
and checked for what the tool would refuse.
"""
