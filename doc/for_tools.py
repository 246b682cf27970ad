"""For machines: a Markdown copy of each page, and ``llms.txt``, a list of them."""

import posixpath
import re

from docutils import nodes

try:
    from sphinx_markdown_builder import MarkdownBuilder
except ImportError:  # the pages are complete without the copies
    MarkdownBuilder = None

SECTIONS = {
    "guide/index": "User guide",
    "published": "Published methods",
    "results/index": "Results",
    "api/index": "API reference",
}
ABOUT = (
    "Decision trees for scikit-learn that report how strong the evidence is for each "
    "split, learn from tables and streams, and select rows to label."
)


def simplified(tree, page):
    """Replace what the Markdown builder does not know; link to copies and images."""
    for node in tree.findall(nodes.reference):
        if node.get("internal") and "refuri" in node:
            node["refuri"] = node["refuri"].replace(".html", ".md")
    for node in tree.findall(nodes.image):
        if "://" not in node["uri"]:
            name = posixpath.basename(node["uri"])
            node["uri"] = f"{'../' * page.count('/')}_images/{name}"
    for node in list(tree.findall(nodes.classifier)):
        node.replace_self(nodes.inline("", f": {node.astext()}"))
    for node in list(tree.findall(nodes.abbreviation)):
        node.replace_self(nodes.inline("", node.astext()))
    for node in list(tree.findall(nodes.citation)):
        label, *rest = node.children
        node.replace_self([nodes.paragraph("", f"[{label.astext()}]"), *rest])
    return tree


def first_sentence(document):
    """The first sentence of a page that is not in a list or a table."""
    for paragraph in document.findall(nodes.paragraph):
        if isinstance(paragraph.parent, nodes.section):
            text = " ".join(paragraph.astext().split())
            return re.match(r".*?[.:!?](?=\s|$)|.*", text)[0].rstrip(":")
    return ""


def pages_below(env, page):
    """Yield the pages of a table of contents, those of its pages included."""
    for child in env.toctree_includes.get(page, ()):
        yield child
        yield from pages_below(env, child)


def write_copies(app, exception):
    """Write the copies next to the pages of a site."""
    if exception or app.builder.format != "html" or MarkdownBuilder is None:
        return
    builder = MarkdownBuilder(app, app.env)
    builder.outdir = app.outdir
    builder.init()
    pages = [one for one in app.env.found_docs if not one.startswith("auto_examples/")]
    builder.prepare_writing(set(pages))
    for page in sorted(pages):
        tree = app.env.get_and_resolve_doctree(page, builder, tags=app.tags)
        builder.write_doc(page, simplified(tree, page))
    lines = [f"# {app.config.project}", "", f"> {ABOUT}"]
    for section, title in SECTIONS.items():
        lines += ["", f"## {title}", ""]
        for page in dict.fromkeys(pages_below(app.env, section)):
            if page in pages:
                about = first_sentence(app.env.get_doctree(page))
                name = app.env.titles[page].astext()
                lines.append(f"- [{name}]({page}.md)" + (f": {about}" if about else ""))
    path = app.outdir / "llms.txt"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def link_copy(app, page, template, context, doctree):
    """Let the head of a page name its copy."""
    if doctree is not None and not page.startswith("auto_examples/"):
        name = posixpath.basename(page)
        link = f'<link rel="alternate" type="text/markdown" href="{name}.md">'
        context["metatags"] = context.get("metatags", "") + link


def setup(app):
    """Register what the Markdown builder reads, without its builder."""
    if MarkdownBuilder is not None:
        app.setup_extension("sphinx_markdown_builder")
        app.connect("html-page-context", link_copy)
    app.connect("build-finished", write_copies)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
