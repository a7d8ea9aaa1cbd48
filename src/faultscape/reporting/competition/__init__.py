"""The report of a competition: selections, standings, galleries."""
