"""The report in a real Chromium: nothing cut off at any width; boxes answer."""

import os
import shutil
from pathlib import Path

import pytest
from cli.people import write_people

from skconftree._cli import main

webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is missing")
from selenium.webdriver.common.by import By  # noqa: E402

PROGRAMS = [shutil.which(name) for name in ("chromium", "chromedriver")]
if None in PROGRAMS:
    pytest.skip("chromium or chromedriver is missing", allow_module_level=True)
pytestmark = pytest.mark.slow

WIDTHS = {"phone": 360, "tablet": 800, "desktop": 1400}
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


@pytest.fixture(scope="module")
def chromium():
    options = webdriver.ChromeOptions()
    options.binary_location, driver = PROGRAMS
    for one in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage"):
        options.add_argument(one)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    with webdriver.Chrome(options, webdriver.ChromeService(driver)) as found:
        yield found


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    data, path = write_people(folder / "people.csv"), folder / "report.html"
    assert main(["fit", str(data), "--target", "buys", "--report", str(path)]) == 0
    return path


def show(driver, page, width, scheme="light", media=""):
    driver.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False},
    )
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
        driver.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": size, "deviceScaleFactor": 1, "mobile": False},
        )
        driver.save_screenshot(str(Path(folder) / f"{name}.png"))


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_is_cut_off(chromium, page, width, scheme):
    show(chromium, page, WIDTHS[width], scheme)
    assert chromium.execute_script(CUT_OFF) == []
    script = "return document.documentElement.scrollWidth"
    assert chromium.execute_script(script) <= WIDTHS[width]
    ground = chromium.find_element(By.TAG_NAME, "body").value_of_css_property(
        "background-color"
    )
    assert ("255" in ground) == (scheme == "light")
    assert not chromium.get_log("browser")
    keep(chromium, f"report-{width}-{scheme}")


def test_printed_it_is_light_and_open(chromium, page):
    show(chromium, page, 800, "light", media="print")
    assert chromium.execute_script(CUT_OFF) == []
    leaves = chromium.find_elements(By.CSS_SELECTOR, ".skconftree li b")
    assert leaves
    assert all(one.is_displayed() for one in leaves)
    keep(chromium, "report-print")


def test_a_box_that_is_asked_answers(chromium, page):
    show(chromium, page, 800)
    node = chromium.find_elements(By.CSS_SELECTOR, ".sct .node")[-1]
    said = node.find_element(By.CSS_SELECTOR, ".said")
    assert said.value_of_css_property("visibility") == "hidden"
    chromium.execute_script("arguments[0].focus()", node)  # as a tap or a key does
    assert said.value_of_css_property("visibility") == "visible"
    told = said.text.replace("\n", " ")
    assert "rows" in told


def test_parts_of_the_tree_open(chromium, page):
    show(chromium, page, 800)
    part = chromium.find_element(By.CSS_SELECTOR, ".skconftree details")
    before = part.get_attribute("open")
    part.find_element(By.TAG_NAME, "summary").click()
    assert part.get_attribute("open") != before
