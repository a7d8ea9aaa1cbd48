from .catalogue import HEADS as HEADS
from .dropout import add_dropout as add_dropout
from .fit import fit_covariance as fit_covariance
from .heads.channels import Doubt as Doubt
from .replace import last_layer as last_layer
from .replace import replace_head as replace_head
from .training.losses import loss as loss
