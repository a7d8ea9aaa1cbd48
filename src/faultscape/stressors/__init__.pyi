from .streams import Stream as Stream
from .streams import stream_start as stream_start
from .streams import words_at as words_at
