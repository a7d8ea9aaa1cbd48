from .class_lists import resolve as resolve
from .hierarchy import Hierarchy as Hierarchy
from .hierarchy import imagenet as imagenet
from .imagenet1k import imagenet_classes as imagenet_classes
