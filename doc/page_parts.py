"""Changes to pages as they are built: groups of parameters, breaks in names, colors."""

import re

ENTRY = re.compile(r" {4}\S")
ONLY = re.compile(r"\s*[`*]+(fit|partial_fit)[`*]+ only\b")
TITLES = {
    None: "Parameters of fit and partial_fit",
    "fit": "Parameters of fit only",
    "partial_fit": "Parameters of partial_fit only: learning from a stream",
}


def group_parameters(app, what, name, obj, options, lines):
    """Divide a long list of parameters by the methods that use them.

    Descriptions begin with "`fit` only" or "`partial_fit` only", or are for both.
    """
    if ":Parameters:" not in lines:
        return
    start = lines.index(":Parameters:")
    stop = next(
        (i for i in range(start + 1, len(lines)) if re.match(r"\S", lines[i])),
        len(lines),
    )
    groups, entry = {title: [] for title in TITLES}, []
    entries = []
    for line in lines[start + 1 : stop]:
        if ENTRY.match(line):
            entry = []
            entries.append(entry)
        entry.append(line)
    for entry in entries:
        about = next((line for line in entry[1:] if line.strip()), "")
        found = ONLY.match(about)
        groups[found[1] if found else None] += entry
    if sum(map(bool, groups.values())) < 2:
        return
    made = []
    for method, title in TITLES.items():
        if groups[method]:
            made += [f":{title}:", "", *groups[method], ""]
    lines[start:stop] = made


def mark_breaks(html):
    """Mark where the names of a list of links may break."""

    def mark(text):
        text = re.sub(r"(?<=\w)(_+|\.)(?=\w)", r"\1<wbr>", text[0])
        return re.sub(r"(?<=[a-z])(?=[A-Z][a-z])", "<wbr>", text)

    return re.sub(r"(?<=>)[^<>]+(?=<)", mark, html)


def break_names(app, page, template, context, doctree):
    """Let the side lists of a page break names at their parts."""
    for name in ("generate_toc_html", "generate_toctree_html"):
        if name in context:
            context[name] = marked(context[name])


def marked(make):
    """Wrap a function of the theme that returns HTML, or an object that becomes it."""

    def call(kind="html", *args, **kwargs):
        found = make(kind, *args, **kwargs)
        return found if kind == "raw" else mark_breaks(str(found))

    return call


def use_class_colors(gallery_conf, file):
    """Let plots of the gallery use the colors of classes, in their order."""
    from cycler import cycler
    from matplotlib import pyplot

    from skconftree.tree import class_colors

    pyplot.rcParams["axes.prop_cycle"] = cycler(color=class_colors(8))


def setup(app):
    """Connect the above, after numpydoc and the theme."""
    app.connect("autodoc-process-docstring", group_parameters, priority=900)
    app.connect("html-page-context", break_names, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
