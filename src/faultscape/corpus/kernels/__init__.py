"""The compiled search for near-duplicates; its plain equivalent is `faultscape.corpus.duplicates.Groups`."""
