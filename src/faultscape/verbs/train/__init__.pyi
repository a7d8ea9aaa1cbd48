from .signature import train as train
