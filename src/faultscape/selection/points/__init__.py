"""Which pixels a person is asked about, and the draws.

Conventions: ``totals`` are confusion counts from the points answered so far (`ranking.point_totals`).
``metric`` is the score that is asked about, one of those that `ranking.point_scores` names.
"""
