from .catalogue import open_model as open_model
from .sources.folder import FolderModel as FolderModel
