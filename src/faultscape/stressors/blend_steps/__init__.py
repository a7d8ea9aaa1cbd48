"""Steps that make a pasted object look as if the frame's camera had seen it.

Conventions: a step takes the object's layer, the frame's window and the object's placement, and returns the
layer and one number that describes what it did.
"""
