"""The page of `rank-table`."""
