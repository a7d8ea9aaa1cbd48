"""Uncertainty heads, the networks they belong to, and their training. Torch is imported here and in the
sources of models alone.

Conventions: ``net`` is a torch module. ``seed`` is that of what is drawn at random. ``device`` is one of
torch's. ``features`` (n, D) are embeddings. ``logits`` are those before the softmax, classes last or
second. ``labels`` hold the class of each pixel. ``per_class`` fits one temperature for each class. ``head``
is a name of ``HEADS``. ``layers`` are names of modules of the network. ``rate`` is the share that dropout
leaves out. ``batches`` are those of the training images. ``factors`` are the values to try. ``name`` is
that of the layer, '' for the last. ``cosines`` (n, k) are those of ``nearest``. ``queries`` (n, D) and
``keys`` (m, D) have length 1. ``k`` is the number of neighbours. ``said`` is what a network with a head
returned. ``weights`` (C,) are those of the classes. ``classes`` are the predicted classes of the features.
``shrink`` is how far the covariance is drawn to a multiple of 1. ``means`` (K, D) and ``whiten`` (D, D) are
those of ``class_gaussians``. ``first`` and ``second`` are concentrations. ``size`` is (width, height).
``latent`` (n, D) are the vectors of the flow. ``values`` (n, D) are the embeddings. ``plan`` says how long
and how fast it is trained. ``folder`` keeps checkpoints. ``tick`` is called after each step.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
