from .folder import FolderModel as FolderModel
from .onnx import OnnxModel as OnnxModel
