"""Files of labelling tools, a tool's format a file: written with what models say, read with what people drew,
and looked through for what the tool would refuse.
"""
