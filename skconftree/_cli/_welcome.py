"""``skconftree`` without arguments: an example tree, and the commands.

The evidence for a split is the number of candidate splits that would look as good by
chance.
"""

from skconftree import ConfidenceTreeClassifier

from ._common import tree_lines
from ._table import bundled_table
from ._text import say

COMMANDS = """\
skconftree DATA.csv --target COLUMN            fit a tree, compare it with CART
skconftree DATA.csv --target COLUMN --report tree.html    the same as an HTML page
skconftree DATA.csv --target COLUMN --output MODEL        save the tree, and then
skconftree predict MODEL NEW.csv               predict the classes of other rows
skconftree show MODEL --as rules               the model as rules, SQL, Python, ...
skconftree audit MODEL NEW.csv                 test each split on new labeled rows
skconftree stream DATA.csv --target COLUMN     a table larger than memory, row by row
skconftree label POOL.csv --labels yes,no      choose which rows to label, label them
skconftree fit                                 the figures of the example above
skconftree COMMAND --help                      all options"""


def run_welcome(_options):
    """Show a small tree and the commands; return the exit code."""
    table = bundled_table()
    tree = ConfidenceTreeClassifier(random_state=0).fit(table.X, table.y)
    names = {"feature_names": table.feature_names, "class_names": table.class_names}
    # subtrees without strong splits (with much evidence) are shown as one line each;
    # the text names the option that shows them
    shown = tree_lines(tree, names, unfold_option="`skconftree fit --verbose`")
    say(
        "Decision trees that report the evidence for each split.\n"
        f"Example: {table.name}\n\n{shown}\n\n{COMMANDS}"
    )
    return 0
