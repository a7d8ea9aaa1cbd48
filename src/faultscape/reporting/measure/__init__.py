"""The page of `measure`: metrics against a truth."""
