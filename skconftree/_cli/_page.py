"""A tree in words and as a page."""

import html

from skconftree.tree import export_html, export_text

from ._common import write_text

MOST_LEAVES = 40  # of a tree that is printed whole behind the figures of a stream
TOP = 4


def tree_lines(tree, names):
    """The tree, or its upper levels."""
    n_leaves = tree.get_n_leaves()
    if n_leaves == 1:
        return tree.summary()
    if n_leaves <= MOST_LEAVES:
        return export_text(tree, **names).rstrip()
    upper = export_text(tree, **names, max_depth=TOP).rstrip()
    return f"{upper}\n\n{n_leaves} leaves; these are the upper {TOP} levels"


def write_page(path, title, about, tree, names, figures, notes):
    """Write a page with the tree and all figures."""
    page = export_html(tree, **names, title=title)
    about = html.escape(about).replace("\n", "<br>")
    more = [f"<p>{about}</p>"]
    if notes:
        items = "".join(f"<li>{html.escape(note)}</li>" for note in notes)
        more.append(f"<h2>Notes</h2><ul>{items}</ul>")
    more.append(f"<h2>Figures</h2><pre>{html.escape(figures)}</pre>")
    more.append(
        f"<h2>Tree as text</h2><pre>{html.escape(export_text(tree, **names))}</pre>"
    )
    body = "\n".join(more)
    write_text(path, page.replace("</main>", f"{body}\n</main>"))
