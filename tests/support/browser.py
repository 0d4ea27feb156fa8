"""A real browser, spoken to by the DevTools protocol: opens pages, runs script in them, clicks, types, takes pictures."""

from __future__ import annotations

import base64
import itertools
import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from websockets.sync.client import ClientConnection, connect

NAMES = ("chromium-headless-shell", "chrome-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
SECONDS = 60.0


def browser_path() -> str:
    """$EDGARMILL_BROWSER, or the first browser on the path; skips the test where there is none."""
    for name in (os.environ.get("EDGARMILL_BROWSER"), *NAMES):
        if name and (found := shutil.which(name)):
            return found
    pytest.skip("no browser: install chromium, or set EDGARMILL_BROWSER to one")


class Browser:
    """One running browser. Messages that are no replies are kept by page."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket
        self.numbers = itertools.count(1)
        self.events: dict[str, list[dict[str, Any]]] = {}

    def call(self, method: str, session: str = "", **params: Any) -> dict[str, Any]:
        number = next(self.numbers)
        asked = {"id": number, "method": method, "params": params, **({"sessionId": session} if session else {})}
        self.socket.send(json.dumps(asked))
        while True:
            got = json.loads(self.socket.recv(timeout=SECONDS))
            if got.get("id") == number:
                assert "error" not in got, (method, got["error"])
                result: dict[str, Any] = got["result"]
                return result
            self.events.setdefault(got.get("sessionId", ""), []).append(got)

    def open(self, path: Path, width: int = 1280, height: int = 900, dark: bool = False, media: str = "") -> Page:
        """A new page at a file, when it has loaded and its script has run."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = Page(self, session)
        for domain in ("Page", "Runtime", "Log", "Network", "Security"):
            page.call(f"{domain}.enable")
        page.resize(width, height)
        page.emulate(dark, media)
        page.call("Page.navigate", url=path.resolve().as_uri())
        page.until("document.readyState === 'complete' && location.protocol === 'file:'")
        return page


class Page:
    """One page of the browser."""

    def __init__(self, browser: Browser, session: str) -> None:
        self.browser, self.session = browser, session

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        return self.browser.call(method, self.session, **params)

    def resize(self, width: int, height: int = 900) -> None:
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def emulate(self, dark: bool = False, media: str = "") -> None:
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", media=media, features=[scheme])

    def run(self, script: str) -> Any:
        """The value of an expression in the page."""
        done = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in done, done["exceptionDetails"]
        return done["result"].get("value")

    def until(self, script: str) -> None:
        """Waits for an expression to be true."""
        ends = time.monotonic() + SECONDS
        while not self.run(f"!!({script})"):
            assert time.monotonic() < ends, script
            time.sleep(0.02)

    def click(self, selector: str, place: int = 0) -> None:
        """A click of the mouse in the middle of an element, which is scrolled to."""
        box = self.run(f"(() => {{ const one = document.querySelectorAll({json.dumps(selector)})[{place}]; "
                       "one.scrollIntoView({block: 'center'}); const b = one.getBoundingClientRect(); "
                       "return [b.left + Math.min(b.width / 2, 60), b.top + b.height / 2]; })()")
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=box[0], y=box[1], button="left", clickCount=1)

    def key(self, name: str, code: int, text: str = "") -> None:
        """A key pressed and let go."""
        for kind in ("keyDown", "keyUp"):
            more = {"text": text} if text and kind == "keyDown" else {}
            self.call("Input.dispatchKeyEvent", type=kind, key=name, code=name, windowsVirtualKeyCode=code, **more)

    def type(self, text: str) -> None:
        self.call("Input.insertText", text=text)

    def picture(self, path: Path, whole: bool = True) -> None:
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]
        path.write_bytes(base64.b64decode(data))

    def printed(self) -> bytes:
        """As PDF."""
        return base64.b64decode(self.call("Page.printToPDF", printBackground=True)["data"])

    def messages(self) -> list[str]:
        """What the console and the log of the browser have, errors of the policy among them."""
        self.run("1")
        found = []
        for event in self.browser.events.get(self.session, []):
            params = event.get("params", {})
            if event["method"] == "Runtime.consoleAPICalled":
                found.append(f"console: {params['args']}")
            elif event["method"] == "Runtime.exceptionThrown":
                found.append(f"exception: {params['exceptionDetails']}")
            elif event["method"] == "Log.entryAdded":
                found.append(f"log: {params['entry']['text']}")
        return found

    def requests(self) -> list[str]:
        """Addresses that were asked for, the page's own aside."""
        self.run("1")
        events = self.browser.events.get(self.session, [])
        asked = [event["params"]["request"]["url"] for event in events if event["method"] == "Network.requestWillBeSent"]
        return [url for url in asked if not url.startswith("file:")][:10] + [url for url in asked if url.startswith("file:")][1:]


@contextmanager
def running(folder: Path) -> Iterator[Browser]:
    """A browser with a profile of its own in `folder`; it ends with the block."""
    words = [browser_path(), "--headless", "--remote-debugging-port=0", f"--user-data-dir={folder}", "--no-first-run", "--disable-gpu",
             "--disable-dev-shm-usage", "--disable-background-networking", "--hide-scrollbars", "about:blank"]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        words.insert(1, "--no-sandbox")  # its sandbox does not start as root
    with (folder / "browser.log").open("wb") as log:
        process = subprocess.Popen(words, stdout=log, stderr=log, start_new_session=True)  # a group of its own: it may start by a script
        try:
            with connect(_address(folder, process), max_size=None, open_timeout=SECONDS) as socket:
                yield Browser(socket)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait(SECONDS)


def _address(folder: Path, process: subprocess.Popen[bytes]) -> str:
    file, ends = folder / "DevToolsActivePort", time.monotonic() + SECONDS
    while not (file.exists() and file.read_text(encoding="utf-8").count("\n")):
        log = (folder / "browser.log").read_text(encoding="utf-8", errors="replace")
        assert process.poll() is None, f"the browser ended: {log[-2000:]}"
        assert time.monotonic() < ends, f"the browser does not answer: {log[-2000:]}"
        time.sleep(0.05)
    port, path = file.read_text(encoding="utf-8").split("\n")[:2]
    return f"ws://127.0.0.1:{port}{path}"
