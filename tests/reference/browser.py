"""A headless Chromium for tests of pages.

It is the system's chromium if chromedriver is installed too, otherwise that of Qt
(package PySide6-WebEngine). Qt's has no executable: this file is also the program that
opens it, and chromedriver connects to its debugging port.
"""

import os
import shutil
import socket
import subprocess
import sys
from contextlib import contextmanager

import pytest

# in containers, the sandbox often does not work, and shared memory is small
FLAGS = ("--no-sandbox", "--disable-dev-shm-usage")


@contextmanager
def open_browser():
    """Yield a WebDriver that records the console messages of pages."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is missing")
    options = webdriver.ChromeOptions()
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    programs = [shutil.which(name) for name in ("chromium", "chromedriver")]
    if None not in programs:
        options.binary_location, driver = programs
        for flag in ("--headless=new", *FLAGS):
            options.add_argument(flag)
        with webdriver.Chrome(options, webdriver.ChromeService(driver)) as found:
            yield found
        return
    missing = "chromium and chromedriver, or PySide6-WebEngine and chromedriver-py"
    pytest.importorskip("PySide6.QtWebEngineCore", reason=f"missing: {missing}")
    driver = pytest.importorskip("chromedriver_py", reason=f"missing: {missing}")
    with socket.socket() as any_port:
        any_port.bind(("127.0.0.1", 0))
        options.debugger_address = f"127.0.0.1:{any_port.getsockname()[1]}"
    flags = " ".join((*FLAGS, "--disable-gpu"))
    environment = {
        "QT_QPA_PLATFORM": "offscreen",
        "QTWEBENGINE_CHROMIUM_FLAGS": flags,
        "QTWEBENGINE_REMOTE_DEBUGGING": options.debugger_address,
    }
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    argv = [sys.executable, "-P", __file__]
    process = subprocess.Popen(argv, env={**os.environ, **environment}, **quiet)
    try:
        service = webdriver.ChromeService(driver.binary_path)
        with webdriver.Chrome(options, service) as found:
            yield found
    finally:
        process.kill()
        process.wait()


def main():
    """Show pages with Qt; a page that another one opens gets its own window."""
    from PySide6.QtWebEngineCore import QWebEngineProfile, qWebEngineChromiumVersion
    from PySide6.QtWebEngineWidgets import QWebEngineView
    from PySide6.QtWidgets import QApplication

    application = QApplication(sys.argv)
    # chromedriver reads the browser's version, for which Qt reports the application's
    application.setApplicationName("Chrome")
    application.setApplicationVersion(qWebEngineChromiumVersion())
    profile = QWebEngineProfile()  # cookies are forgotten
    windows = []

    class Window(QWebEngineView):
        def __init__(self):
            super().__init__(profile)
            self.resize(1280, 900)
            self.page().windowCloseRequested.connect(self.leave)
            windows.append(self)
            self.show()

        def leave(self):
            windows.remove(self)
            self.deleteLater()

        def createWindow(self, kind):
            return Window()

    Window().setUrl("about:blank")
    application.exec()


if __name__ == "__main__":
    main()
