"""The networks that `train` builds: one file per family, each a module that ends in a layer that a head can
replace.
"""
