"""What makes a pasted object look as if the frame's camera had seen it, one step a file.

Conventions: a step takes the object's layer, the frame's window and the object's placement, and returns the
layer and one number that says what it did.
"""
