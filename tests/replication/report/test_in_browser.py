"""The report pages in a real browser: nothing to complain of, all to be seen, no sideways scroll.

Skipped where no Chromium with its driver is found (Debian: chromium and chromium-driver).
"""

from __future__ import annotations

import os
import shutil

import pytest

webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")

BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), ""
)
DRIVER = shutil.which("chromedriver") or ""
pytestmark = pytest.mark.skipif(
    not (BROWSER and DRIVER), reason="no Chromium and chromedriver found: the pages are not opened"
)
WIDTHS = (1280, 400)


@pytest.fixture(scope="module")
def browser():
    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    # Containers lack what Chromium's sandbox needs; the pages are our own.
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    service = webdriver.ChromeService(executable_path=DRIVER)
    driver = webdriver.Chrome(options=options, service=service)
    yield driver
    driver.quit()


@pytest.fixture(params=["quick_ocr", "quick_lshtc", "quick_theory"])
def page(request, browser):
    folder, _ = request.getfixturevalue(request.param)
    browser.get_log("browser")  # empty it
    browser.get((folder / "report.html").as_uri())
    return request.param


def set_size(browser, width: int, height: int = 900) -> None:
    """Set the size of what the page sees; a window itself has a least width."""
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False},
    )


def test_the_page_opens_without_complaints(page, browser):
    assert browser.get_log("browser") == []
    assert browser.title
    assert not browser.find_elements("tag name", "script")


@pytest.mark.parametrize("width", WIDTHS)
def test_figures_are_seen_and_nothing_overflows(page, browser, width):
    set_size(browser, width)
    assert browser.execute_script("return window.innerWidth") == width
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    images = browser.find_elements("tag name", "img")
    assert images
    for image in images:
        natural = browser.execute_script("return arguments[0].naturalWidth", image)
        assert natural > 0
        assert image.size["width"] >= min(320, 0.8 * width)
        assert image.size["height"] > 150
        assert image.rect["x"] >= 0
        assert image.rect["x"] + image.rect["width"] <= width
    for table in browser.find_elements("css selector", ".scroll"):
        assert table.rect["x"] + table.rect["width"] <= width  # it scrolls inside
    paragraph = browser.find_element("css selector", "main p")
    assert float(paragraph.value_of_css_property("font-size").removesuffix("px")) >= 15
    keep_screenshot(browser, page, width)


def keep_screenshot(browser, page: str, width: int) -> None:
    """Keep a picture of the whole page where PROXQN_SCREENSHOTS names a folder, to look at."""
    if folder := os.environ.get("PROXQN_SCREENSHOTS"):
        height = browser.execute_script("return document.documentElement.scrollHeight")
        set_size(browser, width, height)
        assert browser.save_screenshot(os.path.join(folder, f"{page}-{width}.png"))
