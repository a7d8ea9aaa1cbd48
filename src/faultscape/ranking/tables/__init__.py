"""Any table of scores, models by cases: who is best, what the cases do not tell apart, how stable it is.

Conventions: ``table`` is a `ScoreTable`, ``ranked`` what `rank_table` returns. ``models`` are the names of
the models. ``scores`` (J, K) are their scores. ``cases`` (K,) name the cases, ``groups`` (K,) the group of
each, '' for none, ``classes`` and ``raters`` (K,) the class and rater of each cell. ``metric`` is what the
scores measure. ``better`` is high or low. ``missing`` is what a missing score counts as. ``anchor`` is a
model to compare all others with. ``units`` are the cases, or groups, that are redrawn. ``notes`` are remarks
on what was left out or filled in. ``resamples`` is how often units are redrawn, and ``seed`` that of these
draws.
"""
