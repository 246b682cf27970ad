"""Links from the HTML representation of an estimator to its documentation page."""

import sys
from functools import cache
from importlib.metadata import PackageNotFoundError, metadata


@cache
def documentation_address():
    """Return the address of the documentation, or "" while it is a placeholder."""
    try:
        lines = metadata("skconftree").get_all("Project-URL", ())
    except PackageNotFoundError:
        return ""
    address = dict(line.split(", ", 1) for line in lines).get("Documentation", "")
    return "" if ".invalid" in address else address


def public_name(kind):
    """Return the dotted name under which a class is listed in the documentation."""
    package = ""
    for part in kind.__module__.split("."):
        package = f"{package}.{part}".lstrip(".")
        if hasattr(sys.modules[package], kind.__name__):
            break
    return f"{package}.{kind.__name__}"


class DocLinkMixin:
    """Mixin of estimators that have a page; scikit-learn reads these attributes."""

    _doc_link_module = "skconftree"

    @property
    def _doc_link_template(self):
        address = documentation_address()
        return address and f"{address.rstrip('/')}/api/generated/{{name}}.html"

    def _doc_link_url_param_generator(self):
        return {"name": public_name(type(self))}
