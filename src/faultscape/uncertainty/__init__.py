"""Uncertainty heads, the networks they belong to, and their training. Torch is imported only here and in the
sources of models.

Conventions: ``net`` is a torch module. ``seed`` seeds random draws. ``device`` is a torch device.
``features`` (n, D) are embeddings. ``logits`` come before the softmax, with classes last or second.
``labels`` hold the class of each pixel. ``per_class`` fits one temperature for each class. ``head`` is a name
of ``HEADS``. ``layers`` are names of modules of the network. ``rate`` is the share that dropout leaves out.
``batches`` are batches of training images. ``factors`` are the values to try. ``name`` is the layer's name,
'' for the last. ``cosines`` (n, k) are those of ``nearest``. ``queries`` (n, D) and ``keys`` (m, D) have
length 1. ``k`` is the number of neighbours. ``said`` is the output of a network with a head. ``weights`` (C,)
are class weights. ``classes`` are the predicted classes of the features. ``shrink`` is how far the covariance
is shrunk towards a multiple of the identity. ``means`` (K, D) and ``whiten`` (D, D) are those of
``class_gaussians``. ``first`` and ``second`` are concentrations. ``size`` is (width, height). ``latent`` (n,
D) are latent vectors of the flow. ``values`` (n, D) are embeddings. ``plan`` sets the length and rate of
training. ``folder`` holds checkpoints. ``tick`` is called after each step.
"""

from faultscape.lazy_names import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
