"""One folder per verb: its signature in ``signature.py``, its work, and the artefact that it makes.

Conventions: ``study`` is the path of the study. ``models`` are the models in question. ``images`` is how many
images it is about. ``new`` is how many did not exist before. ``failures`` is how many could not be used.
``first`` is why the first of these could not be used. ``replaced`` is how many existing labels are replaced.
``discarded`` is how many images an annotator refused. ``truth`` is the name of the labels. ``folder`` is the
folder with the files. ``path`` is the file that was written. ``format`` is the label format. ``labelled`` is
how many already have a label. ``then`` is the command to run next. ``says`` is what to do with the written
files. ``what`` is what is counted, an image or a question. ``kinds`` is how many of each kind there are.
``people`` are the annotators. ``truths`` are the names of the labels that were found. ``classes`` is the
class list. ``notes`` are remarks to print below. ``provenance`` is the version, options and inputs that made
it. ``sets`` are the sets of images that were made. ``kind`` is what was made, and ``base`` the set that it
was made from. ``changed`` is how many were made again. ``left`` is how many are no longer part of the sets.
``written`` are the files that were written. ``address`` is where the pages are served. ``document`` is the
complete content of the result's file. ``source`` is the file that the model was opened from. ``seconds`` is
how long it took. ``stale`` are the artefacts that are now out of date. ``next`` is the command to run next.
``done`` is what was done, as text. ``stuck`` says whether it cannot continue without you. ``stages`` are the
stages with their states. ``pixels`` is how many pixels it is about. ``model`` is the name of the model.
``name`` is its name. ``pseudonym`` is the name under which answers are stored. ``status`` is that of the
study afterwards.
"""

from faultscape.lazy_names import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
