from .folder import FolderModel as FolderModel
from .opening import open_model as open_model
