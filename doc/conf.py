"""How the documentation is built: offline, without a warning.

With SKCONFTREE_ONLINE=1 names of NumPy, SciPy, scikit-learn and pandas are links to the
documentation of these packages, whose lists of names are downloaded.
"""

import importlib
import inspect
import os
import pkgutil
import posixpath
import re
import shutil
import sys
from pathlib import Path

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.util import logging
from sphinx_gallery.sorting import ExplicitOrder

import skconftree
from skconftree.bounds import _registry

logger = logging.getLogger(__name__)
HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))  # for the extensions of this folder

project = "skconftree"
author = copyright = "The skconftree developers"
release = version = skconftree.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
    "page_parts",
    "for_tools",
]
if os.environ.get("SKCONFTREE_ONLINE"):
    extensions.append("sphinx.ext.intersphinx")
    intersphinx_mapping = {
        "numpy": ("https://numpy.org/doc/stable/", None),
        "scipy": ("https://docs.scipy.org/doc/scipy/", None),
        "sklearn": ("https://scikit-learn.org/stable/", None),
        "pandas": ("https://pandas.pydata.org/docs/", None),
    }
exclude_patterns = ["_build", "**/sg_execution_times.rst", "sg_execution_times.rst"]
templates_path = ["_templates"]
default_role = "literal"
nitpicky = False

html_theme = "pydata_sphinx_theme"
html_title = "skconftree"
html_math_renderer = "mathml"
html_show_sourcelink = False
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_theme_options = {
    "navbar_align": "left",
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}

copybutton_prompt_text = r">>> |\.\.\. |\$ "  # what is copied runs
copybutton_prompt_is_regexp = True

numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
autosummary_generate = True
autosummary_imported_members = True
autodoc_typehints = "none"
toc_object_entries_show_parents = "hide"  # the side list is narrow

# In the order of the guide.
GALLERY = """
default_tree messy_csv tree_evidence rows_for_a_split noise pruning_or_stopping
categories missing_values probabilities forest_or_tree drift forest_in_drift new_class
labeling
forest_as_tree learning_to_sample oasis_diced ec2_decision
published_trees bounds_grid rare_class shap hoeffding_or_evalue
larger_than_memory
""".split()

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "filename_pattern": "/plot_",
    "show_memory": False,
    "show_signature": False,
    "download_all_examples": False,
    "abort_on_example_error": True,
    "capture_repr": (),  # what is to be seen is printed or drawn
    "copyfile_regex": r"(?!)",
    "reset_modules": ("matplotlib", "page_parts.use_class_colors"),
    "within_subsection_order": ExplicitOrder(
        [f"plot_{name}.py" for name in GALLERY] + ["*"]
    ),
}

# Defaults come from the code: |credible delta| is what CredibleBound() has.
rst_epilog = "\n".join(
    f".. |{name} delta| replace:: {getattr(bound(), bound.delta_parameter)}"
    for name, bound in _registry.BOUNDS.items()
)


def public_modules():
    """Yield the package, its public packages, and their packages with exports."""
    yield skconftree
    for room in sorted(skconftree._SUBPACKAGES):
        module = importlib.import_module(f"skconftree.{room}")
        yield module
        for found in pkgutil.iter_modules(module.__path__):
            if found.ispkg:
                inner = importlib.import_module(f"{module.__name__}.{found.name}")
                if hasattr(inner, "__all__"):
                    yield inner


def write_api_pages(app, config):
    """List what every public module exports, so that no list can go stale."""
    folder = HERE / "api"
    shutil.rmtree(folder / "generated", ignore_errors=True)
    for page in folder.glob("skconftree*.rst"):
        page.unlink()
    listed, index = [], []
    for module in public_modules():
        exported = {
            name: getattr(module, name)
            for name in module.__all__
            if getattr(module, name) not in listed
        }
        listed += exported.values()
        classes = [name for name, found in exported.items() if inspect.isclass(found)]
        functions = [
            name
            for name, found in exported.items()
            if callable(found) and name not in classes
        ]
        if not classes and not functions:
            continue
        name = module.__name__
        lines = [name, "=" * len(name), "", f".. automodule:: {name}", ""]
        for title, names in (("Classes", classes), ("Functions", functions)):
            if names:
                lines += [title, "-" * len(title), "", f".. currentmodule:: {name}", ""]
                lines += [
                    ".. autosummary::",
                    "   :toctree: generated",
                    "   :nosignatures:",
                ]
                lines += ["", *(f"   {one}" for one in names), ""]
        (folder / f"{name}.rst").write_text("\n".join(lines), encoding="utf-8")
        index += [name, "-" * len(name), "", f".. currentmodule:: {name}", ""]
        index += [".. autosummary::", "   :nosignatures:", ""]
        index += [*(f"   {one}" for one in (*classes, *functions)), ""]
    (folder / "skconftree.inc").write_text("\n".join(index), encoding="utf-8")


def skip_foreign_members(app, what, name, obj, skip, options):
    """Leave out what Python and scikit-learn give to every class of a kind.

    Two methods of scikit-learn that are used by hand stay.
    """
    if name in ("get_params", "set_params"):
        return None
    maker = getattr(obj, "fget", obj)
    maker = getattr(maker, "__objclass__", maker)
    foreign = not (getattr(maker, "__module__", "") or "").startswith("skconftree")
    return True if foreign or re.fullmatch(r"set_\w+_request", name) else None


def visit_inline_math(translator, node):
    """Write a formula as MathML, which browsers draw without a script."""
    translator.body.append(f"<math>{inner_mathml(node)}</math>")
    raise nodes.SkipNode


def visit_block_math(translator, node):
    """Write a formula on a line of its own as MathML."""
    translator.body.append(f'<math display="block">{inner_mathml(node)}</math>')
    raise nodes.SkipNode


def inner_mathml(node):
    """Translate the formula of a node."""
    try:
        written = str(tex2mathml(node.astext(), as_block=False))
    except MathError as error:
        logger.warning("%s", error, location=node)
        return ""
    return re.sub(r"^\s*<math[^>]*>|</math>\s*$", "", written)


def write_redirects(app, exception):
    """Write a page at each address of `redirects.txt` that leads to the new one."""
    if exception or app.builder.format != "html":
        return
    for line in (HERE / "redirects.txt").read_text(encoding="utf-8").splitlines():
        old, new = line.split()
        page, _, anchor = new.partition("#")
        url = posixpath.relpath(f"{page}.html", posixpath.dirname(old))
        url += f"#{anchor}" if anchor else ""
        (Path(app.outdir) / f"{old}.html").write_text(
            '<!DOCTYPE html><meta charset="utf-8"><title>Moved</title>'
            f'<meta http-equiv="refresh" content="0; url={url}">'
            f'<link rel="canonical" href="{url}"><a href="{url}">Moved</a>\n',
            encoding="utf-8",
        )


def setup(app):
    """Connect the above."""
    app.connect("build-finished", write_redirects)
    app.connect("config-inited", write_api_pages)
    app.connect("autodoc-skip-member", skip_foreign_members)
    app.add_html_math_renderer(
        "mathml", (visit_inline_math, None), (visit_block_math, None)
    )
