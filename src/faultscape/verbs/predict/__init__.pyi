from .signature import predict as predict
