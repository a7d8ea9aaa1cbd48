"""What a study holds, one artefact a file: what it follows from, the options that change it, its key, and the
line that makes it.

Conventions: an artefact imports no stage. It says what lies on disk and what would be made now; whether that
is done, stale or missing follows in ``stages.graph`` alone.
"""
