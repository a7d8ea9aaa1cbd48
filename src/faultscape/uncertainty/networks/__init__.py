"""The networks that `train` builds: one file a family, each a module that ends in a layer which a head can
take the place of.
"""
