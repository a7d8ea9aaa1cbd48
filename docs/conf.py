"""The documentation site: `make docs` builds it offline into build/docs, warnings as errors.

Conventions: pages are Markdown, tutorials and figures are notebooks in Markdown that the build executes;
nothing on a page comes from elsewhere.
"""

from __future__ import annotations

import faultscape

project = "Faultscape"
author = "The Faultscape developers"
copyright = "2026, the Faultscape developers"  # noqa: A001 - Sphinx's name
version = release = faultscape.__version__

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "sphinx.ext.mathjax", "numpydoc"]
exclude_patterns = ["_build", "jupyter_execute"]
root_doc = "index"

html_theme = "pydata_sphinx_theme"
html_title = "Faultscape"
html_static_path = ["_static"]
mathjax_path = "mathjax/tex-chtml.js"

myst_enable_extensions = ["dollarmath", "colon_fence", "deflist"]
myst_heading_anchors = 4
nb_execution_mode = "cache"
nb_execution_raise_on_error = True
nb_execution_timeout = 240
numpydoc_show_class_members = False
