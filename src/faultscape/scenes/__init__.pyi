from .street import Scene as Scene
from .street import corpus_scene as corpus_scene
from .street import scene as scene
from .street import training_scene as training_scene
