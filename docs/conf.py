"""The documentation site: `make docs` builds it offline into build/docs, warnings as errors.

Conventions: pages are Markdown, tutorials and figures are notebooks in Markdown that the build executes;
nothing on a page comes from elsewhere. What a notebook gave is kept in build/ until the package changes.
"""

from __future__ import annotations

import hashlib
import os
import sys
from pathlib import Path
from typing import Any

from docutils import nodes

import faultscape

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS / "_ext"))

project = "Faultscape"
author = "The Faultscape developers"
copyright = "2026, the Faultscape developers"  # noqa: A001 - Sphinx's name
version = release = faultscape.__version__

extensions = [
    "myst_nb",
    "sphinx.ext.mathjax",
    "sphinx_copybutton",
    "sphinx_design",
    "reference",
    "reading_order",
    "search_scope",
]
exclude_patterns = ["_build", "_extra", "jupyter_execute", "_ext", "**.ipynb_checkpoints"]
root_doc = "index"
default_role = "literal"
smartquotes_action = "qe"  # quotes and ellipses; no dashes: `--name` is an option
python_maximum_signature_line_length = 72
toc_object_entries_show_parents = "hide"
nitpicky = True
nitpick_ignore_regex = [("py:class", r".*")]  # types of properties are text, not links

html_theme = "pydata_sphinx_theme"
html_title = "Faultscape"
html_static_path = ["_static"]
html_extra_path = ["_extra", "reference/schemas"]  # SKILL.md, llms.txt and JSON schemas, as they are
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "show_prev_next": False,
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_context = {"default_mode": "auto"}
html_sidebars = {"index": [], "gallery": [], "contributing": []}

# MathJax from its npm package, with its font's rarer glyphs; what it would load besides is turned off
mathjax_path = "mathjax/tex-svg.js"
mathjax4_config = {
    "loader": {"paths": {"mathjax-newcm": "[mathjax]/font"}},
    "options": {
        f"enable{what}": False
        for what in ("Speech", "Braille", "Enrichment", "Complexity", "Explorer", "Menu")
    }
    | {
        "enableAssistiveMml": True,
        "menuOptions": {
            "settings": dict.fromkeys(("enrich", "speech", "braille", "collapsible"), False)
            | {"assistiveMml": True}
        },
    },
}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

myst_enable_extensions = ["dollarmath", "colon_fence", "deflist"]
myst_heading_anchors = 4


def digest() -> str:
    """Return a digest of the package, and of the code and data of figures: what notebooks gave belongs to it."""
    made = hashlib.sha256()
    read = [(DOCS.parent / "src", "*.py"), (DOCS, "*.py"), (DOCS / "benchmarks" / "data", "*")]
    for path in sorted(path for folder, names in read for path in folder.rglob(names) if path.is_file()):
        made.update(path.read_bytes())
    return made.hexdigest()[:16]


os.environ.setdefault("OMP_NUM_THREADS", "1")
# kernels of this machine talk to this process alone: without their warning that others could listen
kernel_settings = DOCS.parent / "build" / "ipython" / "profile_default" / "ipython_kernel_config.py"
kernel_settings.parent.mkdir(parents=True, exist_ok=True)
kernel_settings.write_text("c = get_config()\nc.IPKernelApp.log_level = 40\n", encoding="utf-8")
os.environ["IPYTHONDIR"] = str(kernel_settings.parents[1])
nb_execution_mode = "cache"
nb_execution_cache_path = str(DOCS.parent / "build" / "notebooks" / digest())
nb_execution_raise_on_error = True
nb_execution_timeout = 240
nb_merge_streams = True


def setup(app: Any) -> None:
    """Read all pages again when the package changed, and mark words that no line of a phone holds."""
    app.add_config_value("code_digest", digest(), "env")
    app.connect("doctree-read", mark_long_code)


def mark_long_code(_: Any, page: nodes.document) -> None:
    """Give code with a word of more than 36 letters the class ``long``: on a phone it breaks."""
    for code in page.findall(nodes.literal):
        if any(len(word) > 36 for word in code.astext().split()):
            code["classes"].append("long")
