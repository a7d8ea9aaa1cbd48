from .acts import networks as networks
from .signature import demo as demo
