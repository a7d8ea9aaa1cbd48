from .signature import select as select
