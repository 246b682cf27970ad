"""``skconftree`` alone: what it can do, in ten lines and a picture."""

import sys

from skconftree import ConfidenceTreeClassifier
from skconftree.tree import node_table

from ._table import bundled_table
from ._text import say

BAR = 20  # signs
PLAIN = {  # for terminals that know no more
    "\N{FULL BLOCK}": "#",
    "\N{LIGHT SHADE}": ".",
    "\N{BOX DRAWINGS LIGHT VERTICAL}": "|",
    "\N{BOX DRAWINGS LIGHT VERTICAL AND RIGHT}": "|",
    "\N{BOX DRAWINGS LIGHT UP AND RIGHT}": "`",
}
COMMANDS = """\
skconftree DATA.csv --target COLUMN            a tree of your table, beside CART
skconftree DATA.csv --target COLUMN --report tree.html    the same as a page to send
skconftree DATA.csv --target COLUMN --output MODEL        keep the tree, and then
skconftree predict MODEL NEW.csv               the classes of other rows
skconftree stream DATA.csv --target COLUMN     a table larger than memory, row by row
skconftree label POOL.csv --labels yes,no      request the labels that teach most
skconftree fit                                 the figures of the table above
skconftree COMMAND --help                      tells more"""


def run_welcome(_options):
    """Show a small tree and the commands; return the exit code."""
    table = bundled_table()
    tree = ConfidenceTreeClassifier(random_state=0).fit(table.X, table.y)
    names = {"feature_names": table.feature_names, "class_names": table.class_names}
    nodes = node_table(tree, **names)
    head = (
        f"Decision trees that know how sure they are. This one is of {len(table.y)} "
        f"rows of the\n{table.name};\nthe bars are {table.class_names[0]}:"
    )
    drawn = picture(nodes)
    try:
        drawn.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        drawn = drawn.translate(str.maketrans(PLAIN))
    say(f"{head}\n\n{drawn}\n\n{COMMANDS}")
    return 0


def picture(nodes):
    """The tree in lines, each with the share of the first class as a bar."""
    lines, waiting = [], [(0, "", "", "")]
    while waiting:
        node, word, first, rest = waiting.pop()
        row = nodes[node]
        what = f"{row.test}?" if row.branches else str(row.label)
        told = row.evidence.level if row.branches else row.outcome
        filled = round(BAR * row.value[0])
        bar = "\N{FULL BLOCK}" * filled + "\N{LIGHT SHADE}" * (BAR - filled)
        lines.append((f"{first}{word}{what}", bar, told))
        for place, branch in reversed(list(enumerate(row.branches))):
            last = place == len(row.branches) - 1
            said = ("yes", "no")[place]  # all splits are binary
            stem = "\N{BOX DRAWINGS LIGHT UP AND RIGHT} "
            if not last:
                stem = "\N{BOX DRAWINGS LIGHT VERTICAL AND RIGHT} "
            more = "  " if last else "\N{BOX DRAWINGS LIGHT VERTICAL} "
            waiting.append((branch.node, f"{said}: ", rest + stem, rest + more))
    wide = max(len(one) for one, _, _ in lines)
    return "\n".join(f"{one:<{wide}}  {bar}  {told}" for one, bar, told in lines)
