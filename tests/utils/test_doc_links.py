"""Estimators link to their pages in notebooks once the documentation has an address."""

import pytest
from sklearn.pipeline import make_pipeline

import skconftree.active
from skconftree import ConfidenceTreeClassifier
from skconftree.utils import _doc_links


@pytest.fixture
def address(monkeypatch):
    monkeypatch.setattr(_doc_links, "documentation_address", lambda: "https://a.org/x/")


@pytest.mark.parametrize(
    "kind",
    [
        skconftree.ConfidenceForestClassifier,
        skconftree.OASISClassifier,
        skconftree.BinaryTests,
        skconftree.active.ActiveLearner,
        skconftree.active.StreamActiveLearner,
        skconftree.active.LearningToSampleClassifier,
    ],
)
def test_an_estimator_links_to_its_page(address, kind):
    package = "skconftree.active" if ".active" in kind.__module__ else "skconftree"
    page = f"https://a.org/x/api/generated/{package}.{kind.__name__}.html"
    assert kind.__new__(kind)._get_doc_link() == page


def test_a_class_within_a_function_has_the_name_of_its_module():
    class Private:
        __module__ = "skconftree.active.pool"

    assert _doc_links.public_name(Private) == "skconftree.active.pool.Private"


def test_the_representation_has_the_link(address):
    shown = make_pipeline(ConfidenceTreeClassifier())._repr_html_()
    assert "https://a.org/x/api/generated/skconftree.ConfidenceTree" in shown


def test_there_is_no_link_before_there_is_an_address(monkeypatch):
    def lines(url):
        class Metadata:
            def get_all(self, name, default):
                return [f"Source, {url}source", f"Documentation, {url}"]

        _doc_links.documentation_address.cache_clear()
        monkeypatch.setattr(_doc_links, "metadata", lambda name: Metadata())
        return ConfidenceTreeClassifier()._get_doc_link()

    assert lines("https://skconftree.invalid/") == ""
    page = "https://b.org/api/generated/skconftree.ConfidenceTreeClassifier.html"
    assert lines("https://b.org/") == page
    _doc_links.documentation_address.cache_clear()


def test_classes_of_users_have_no_page(address):
    class Own(ConfidenceTreeClassifier):
        pass

    assert Own()._get_doc_link() == ""
