from .signature import demo as demo
from .signature import networks as networks
