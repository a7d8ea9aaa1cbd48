"""Models that are files which some program wrote: what they said, one image after the other."""
