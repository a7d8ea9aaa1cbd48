"""What each verb does to a study: the only floor that takes a study's root, and the only one that runs the
engine.

Conventions: ``study`` is the path of the study. ``models`` are the models in question. ``images`` is how
many images it is about. ``new`` is how many were not there before. ``failures`` is how many could not be
used. ``first`` is why the first of these could not be used. ``replaced`` is how many labels were there
already and are replaced. ``discarded`` is how many images an annotator refused. ``truth`` is the name of
the labels. ``folder`` is where the files lie. ``path`` is the file that was written. ``format`` is the
label format. ``labelled`` is how many have a label already. ``then`` is the line to type next. ``says`` is
what to do with what was written. ``what`` is what is counted, an image or a question. ``kinds`` is how many
there are of each kind. ``people`` are the annotators. ``truths`` are the names of the labels that were
found. ``classes`` is the class list. ``notes`` are remarks to print below. ``provenance`` is the version,
options and inputs that made it. ``sets`` are the sets of images that were made. ``kind`` is what was made,
and ``base`` the set that it was made of. ``changed`` is how many were made again. ``left`` is how many were
there already. ``written`` are the files that were written. ``address`` is where the pages are served.
``document`` is the whole result, as the file holds it. ``source`` is the file that the model was opened
from. ``seconds`` is how long it took. ``stale`` are the artefacts that are now out of date. ``next`` is the
line to type next. ``done`` is what was done, in words. ``stuck`` says whether it cannot go on without you.
``stages`` are the stages with their states. ``pixels`` is how many pixels it is about. ``model`` is the
name of the model. ``name`` is its name. ``pseudonym`` is the name under which answers are stored.
``status`` is that of the study afterwards.
"""
