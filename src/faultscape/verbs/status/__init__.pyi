from .signature import Status as Status
from .signature import status as status
from .signature import verdict as verdict
