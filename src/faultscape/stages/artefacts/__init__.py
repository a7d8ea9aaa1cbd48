"""The artefacts of a study, one per file: what each depends on, the options that change it, its key, and the
command that makes it.

Conventions: an artefact imports no stage. It returns what is on disk and what would be made now; only
``stages.graph`` decides whether it is done, stale or missing.
"""
