"""Reports in a real Chromium: nothing cut off or tiny at any width; boxes answer."""

import csv
import os
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from cli.people import write_people

from skconftree._cli import main

pytest.importorskip("selenium.webdriver", reason="selenium is missing")
from selenium.webdriver.common.by import By

pytestmark = pytest.mark.slow

WIDTHS = {"phone": 360, "tablet": 768, "desktop": 1280}
REPORTS = ["people", "visits", "stream"]
# What reaches beyond the page, unless a container around it scrolls.
CUT_OFF = """
const inside = e => { for (let p = e.parentElement; p; p = p.parentElement)
    if (['auto', 'scroll'].includes(getComputedStyle(p).overflowX)) return true;
  return false; };
return [...document.body.querySelectorAll('*')].filter(e => {
  const box = e.getBoundingClientRect();
  return box.width && (box.right > innerWidth + 1 || box.left < -1) && !inside(e);
}).map(e => e.tagName + ' ' + e.textContent.slice(0, 40));
"""


def write_visits(path, n=1500):
    """A table of dates, long names and many classes; the second half is another."""
    rng = np.random.default_rng(0)
    first, names = datetime(2023, 1, 1), "the column with the hours of all persons"
    with open(path, "w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["joined", names, "kind", "answer"])
        for row in range(n):
            joined = first + timedelta(days=int(rng.integers(0, 700)))
            hours, kind = rng.uniform(0, 50), "abc"[rng.integers(3)]
            place = int(hours / 5) if row < n / 2 else 9 - int(hours / 5)
            place = 10 if joined > datetime(2024, 6, 1) and kind == "a" else place
            told = [f"{joined:%d.%m.%Y}", f"{hours:.2f}", kind]
            rows.writerow([*told, f"an answer called {place}"])


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    people, visits = write_people(folder / "people.csv"), folder / "visits.csv"
    write_visits(visits)
    commands = {
        "people": ["fit", people, "--target", "buys"],
        "visits": ["fit", visits, "--target", "answer", "--dates", "dmy"],
        "stream": ["stream", visits, "--target", "answer", "--dates", "dmy"],
    }
    commands["visits"] += ["--baselines", "cart", "--folds", "3"]
    commands["stream"] += ["--set", "drift=local", "--chunk-size", "100"]
    paths = {name: folder / f"{name}.html" for name in commands}
    for name, command in commands.items():
        assert main([str(one) for one in [*command, "--report", paths[name]]]) == 0
    return paths


@pytest.fixture
def page(pages):
    return pages["people"]


def resize(driver, width, height):
    phone = width <= WIDTHS["phone"]  # its scroll bars take no room
    driver.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": phone},
    )


def show(driver, page, width, scheme="light", media=""):
    resize(driver, width, 900)
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    driver.execute_cdp_cmd(
        "Emulation.setEmulatedMedia", {"media": media, "features": features}
    )
    driver.get(page.as_uri())


def keep(driver, name):
    """Save a picture of the whole page where SKCONFTREE_SCREENSHOTS says."""
    folder = os.environ.get("SKCONFTREE_SCREENSHOTS")
    if folder:
        size = driver.execute_script("return document.documentElement.scrollHeight")
        width = driver.execute_script("return innerWidth")
        resize(driver, width, size)
        driver.save_screenshot(str(Path(folder) / f"{name}.png"))


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", REPORTS)
def test_nothing_is_cut_off(chromium, pages, name, width, scheme):
    show(chromium, pages[name], WIDTHS[width], scheme)
    assert chromium.execute_script(CUT_OFF) == []
    script = "return document.documentElement.scrollWidth"
    assert chromium.execute_script(script) <= WIDTHS[width]
    ground = chromium.find_element(By.TAG_NAME, "body").value_of_css_property(
        "background-color"
    )
    assert ("255" in ground) == (scheme == "light")
    assert not chromium.get_log("browser")
    keep(chromium, f"report-{name}-{width}-{scheme}")


# How large letters of charts are on the screen.
LETTERS = """
return [...document.querySelectorAll('.chart text')].map(e => {
  const scale = e.ownerSVGElement.getBoundingClientRect().width
    / e.ownerSVGElement.viewBox.baseVal.width;
  return parseFloat(getComputedStyle(e).fontSize) * scale; });
"""
OVERLAPS = """
const meet = (a, b) => a.left < b.right - .5 && b.left < a.right - .5
  && a.top < b.bottom - 3 && b.top < a.bottom - 3;
return [...document.querySelectorAll('.chart')].flatMap(chart => {
  const texts = [...chart.querySelectorAll('text')];
  const boxes = texts.map(e => e.getBoundingClientRect());
  return boxes.flatMap((a, i) => boxes.slice(i + 1).map((b, j) => meet(a, b)
    ? texts[i].textContent + ' | ' + texts[i + 1 + j].textContent : null));
}).filter(e => e);
"""
SCROLLING = """
return [...document.querySelectorAll('.wide')]
  .filter(e => e.querySelector('table') && e.scrollWidth > e.clientWidth + 1)
  .map(e => e.textContent.slice(0, 60));
"""
FIRST_COLUMN = """
const wide = document.querySelector('.wide:has(.confusion)');
wide.scrollLeft = 10000;
const cell = wide.querySelector('tr:last-child th');
return [wide.scrollLeft, cell.getBoundingClientRect().left,
  wide.getBoundingClientRect().left, getComputedStyle(cell).backgroundColor];
"""
ASKED = """
arguments[0].scrollIntoView({inline: 'center', block: 'start'});
arguments[0].focus();
const box = arguments[0].querySelector('.note rect').getBoundingClientRect();
return [box.left, box.right];
"""


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", REPORTS)
def test_charts_are_legible_and_fit(chromium, pages, name, width):
    show(chromium, pages[name], WIDTHS[width])
    letters = chromium.execute_script(LETTERS)
    assert letters
    assert min(letters) >= 10
    assert max(letters) <= 18
    assert chromium.execute_script(OVERLAPS) == []
    for chart in chromium.find_elements(By.CSS_SELECTOR, ".chart, .bars"):
        assert chart.size["width"] <= WIDTHS[width] - 20


def test_tables_fit_on_a_phone(chromium, pages):
    for name in ("people", "stream"):
        show(chromium, pages[name], WIDTHS["phone"])
        assert chromium.execute_script(SCROLLING) == []


def test_a_wide_table_keeps_its_first_column(chromium, pages):
    show(chromium, pages["visits"], WIDTHS["phone"])
    assert chromium.execute_script(SCROLLING)  # eleven classes
    moved, left, edge, ground = chromium.execute_script(FIRST_COLUMN)
    assert moved > 50
    assert left == pytest.approx(edge, abs=1)
    assert ground == "rgb(255, 255, 255)"  # what moves below it is not seen


def test_a_phone_shows_the_tree_as_a_list_and_turned_as_boxes(chromium, pages):
    """A picture would begin with an empty half, or have letters of four pixels."""
    show(chromium, pages["people"], WIDTHS["phone"])
    pictures = chromium.find_elements(By.CSS_SELECTOR, ".sct")
    assert pictures
    assert not any(one.is_displayed() for one in pictures)
    assert chromium.find_element(By.CSS_SELECTOR, ".aside").is_displayed()
    parts = chromium.find_elements(By.CSS_SELECTOR, ".skconftree li, .skconftree ul")
    assert max(one.rect["x"] + one.rect["width"] for one in parts) <= WIDTHS["phone"]
    show(chromium, pages["people"], 640)
    assert not chromium.find_element(By.CSS_SELECTOR, ".aside").is_displayed()
    for node in chromium.find_elements(By.CSS_SELECTOR, ".sct .node"):
        left, right = chromium.execute_script(ASKED, node)
        assert left >= 0
        assert right <= 640


def test_printed_it_is_light_and_open(chromium, page):
    show(chromium, page, 800, "light", media="print")
    assert chromium.execute_script(CUT_OFF) == []
    leaves = chromium.find_elements(By.CSS_SELECTOR, ".skconftree li b")
    assert leaves
    assert all(one.is_displayed() for one in leaves)
    keep(chromium, "report-print")


def test_a_box_shows_its_path(chromium, page):
    show(chromium, page, 800)
    node = chromium.find_elements(By.CSS_SELECTOR, ".sct .node")[-1]
    note = node.find_element(By.CSS_SELECTOR, ".note")
    assert note.value_of_css_property("visibility") == "hidden"
    chromium.execute_script("arguments[0].focus()", node)  # as a tap or a key does
    assert note.value_of_css_property("visibility") == "visible"
    told = note.text.replace("\n", " ")
    assert "rows" in told


def test_parts_of_the_tree_open(chromium, page):
    show(chromium, page, 800)
    part = chromium.find_element(By.CSS_SELECTOR, ".skconftree details")
    before = part.get_attribute("open")
    part.find_element(By.TAG_NAME, "summary").click()
    assert part.get_attribute("open") != before
