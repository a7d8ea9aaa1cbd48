"""Scores of segmentation models from the true class at single pixels.

Conventions: ``pool`` holds the pixels that are drawn from, ``answers`` the classes given for the points
drawn. ``totals`` are confusion counts estimated from both (`point_totals`). ``found`` are scores of a
metric from these (`point_scores`). ``spread`` is how much they vary (`pool_spread`,
`spread_of_images_to_come`). ``classes`` is C, how many classes there are. ``metric`` is one of those that
`point_scores` names. ``maps`` are the models' predictions, in one order of pixels. ``truth`` are places of
true classes, larger ones void. ``answer`` are places of the classes answered.
"""
