"""Opens a page that `ropewalk report` wrote in headless Chromium and says what is wrong with it.

  look_at_page.py PAGE.html [--screenshots DIR]
  look_at_page.py --binary build/release/bin/ropewalk     makes a small store and looks at its page

In light and dark, wide and on a screen of 360 pixels: no message on the console, no request but for the
page itself, nothing wider than the screen outside of a box that scrolls, text that stands out from its
ground (contrast 4.5), pictures at least 640 pixels wide. Then: tables sort, links lead to files that are
there, the commands stand at the end. Chromium is spoken to through a pipe (DevTools protocol), so that
nothing but Python and Chromium is needed.
"""

import argparse
import base64
import json
import os
import pathlib
import select
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.parse

SIZES = {"wide": (1100, 900), "narrow": (360, 800)}

# What a page looks like from inside; run in it.
LOOK = r"""(() => {
  const wrong = [];
  const root = document.documentElement;
  if (root.scrollWidth > innerWidth) wrong.push(`the page is ${root.scrollWidth} wide on a screen of ${innerWidth}`);
  const light = colour => {
    const [r, g, b] = colour.match(/[\d.]+/g).slice(0, 3).map(v => {
      const c = v / 255;
      return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = element => {
    for (let e = element; e; e = e.parentElement) {
      const colour = getComputedStyle(e).backgroundColor;
      if (!/, 0\)$/.test(colour)) return colour;
    }
    return getComputedStyle(document.body).backgroundColor;
  };
  const seen = new Set();
  for (const e of document.querySelectorAll("body, h1, h2, h3, p, a, td, th, pre, code, span, button, summary, figcaption")) {
    const style = getComputedStyle(e);
    const a = light(style.color), b = light(ground(e));
    const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    const say = (what) => { const text = `${e.tagName} ${e.className}: ${what}`; if (!seen.has(text)) { seen.add(text); wrong.push(text); } };
    if (contrast < 4.5) say(`contrast ${contrast.toFixed(2)}`);
    if (parseFloat(style.fontSize) < 12) say(`letters of ${style.fontSize}`);
  }
  for (const img of document.querySelectorAll("img")) {
    if (!img.complete || img.naturalWidth === 0) wrong.push("a picture does not show");
    else if (img.getBoundingClientRect().width < 640) wrong.push(`a picture is ${img.getBoundingClientRect().width} wide`);
  }
  for (const table of document.querySelectorAll("table")) {
    const box = table.parentElement;
    if (box.className !== "scroll" || box.getBoundingClientRect().right > innerWidth)
      wrong.push("a table is not in a box that scrolls");
  }
  return wrong;
})()"""

SORT = r"""(() => {
  const wrong = [];
  document.querySelectorAll("table").forEach((table, place) => {
    const column = table.tHead.rows[0].cells.length - 1;
    const button = table.tHead.rows[0].cells[column].querySelector("button");
    if (!button) { wrong.push(`table ${place} has no buttons`); return; }
    const before = table.tBodies[0].rows.length;
    for (const up of [true, false]) {
      button.click();
      const keys = [...table.tBodies[0].rows].map(row => row.cells[column].dataset.value ?? "");
      const numbers = keys.filter(k => k !== "").map(Number);
      for (let i = 1; i < numbers.length; ++i)
        if (up ? numbers[i - 1] > numbers[i] : numbers[i - 1] < numbers[i]) { wrong.push(`table ${place} is not sorted`); break; }
    }
    if (table.tBodies[0].rows.length !== before) wrong.push(`table ${place} lost rows`);
  });
  return wrong;
})()"""

LINKS = "[...document.querySelectorAll('a[href]')].map(a => a.getAttribute('href'))"
COMMANDS = "[...document.querySelectorAll('pre')].map(p => p.textContent)"


class Browser:
    """Chromium with one page, spoken to in JSON that ends in a zero byte."""

    def __init__(self, chromium, folder):
        read, self.to = os.pipe()
        self.answers, write = os.pipe()
        # The browser reads from its descriptor 3 and writes to 4.
        command = [chromium, "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe",
                   "--disable-background-networking", "--disable-component-update", "--no-first-run",
                   "--host-resolver-rules=MAP * ~NOTFOUND", f"--user-data-dir={folder}", "about:blank"]
        script = f'exec 3<&{read} 4>&{write}; exec "$@"'
        self.process = subprocess.Popen(["bash", "-c", script, "chromium", *command], pass_fds=(read, write),
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(read)
        os.close(write)
        self.number = 0
        self.buffer = b""
        self.events = []
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.tell(domain + ".enable")

    def message(self, seconds):
        end = time.monotonic() + seconds
        while b"\0" not in self.buffer:
            if not select.select([self.answers], [], [], max(0, end - time.monotonic()))[0]:
                return None
            part = os.read(self.answers, 1 << 20)
            if not part:
                raise RuntimeError("chromium ended")
            self.buffer += part
        text, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(text)

    def ask(self, method, session=None, **parameters):
        self.number += 1
        request = {"id": self.number, "method": method, "params": parameters}
        if session:
            request["sessionId"] = session
        data = json.dumps(request).encode() + b"\0"
        while data:
            data = data[os.write(self.to, data):]
        while True:
            answer = self.message(60)
            if answer is None:
                raise RuntimeError(f"{method}: no answer from chromium")
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self.events.append(answer)

    def tell(self, method, **parameters):
        return self.ask(method, self.session, **parameters)

    def open(self, url, size, dark):
        width, height = size
        self.events.clear()
        self.tell("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.tell("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.tell("Page.navigate", url=url)
        end = time.monotonic() + 60
        while not any(e.get("method") == "Page.loadEventFired" for e in self.events):
            event = self.message(max(0, end - time.monotonic()))
            if event is None:
                raise RuntimeError("the page does not load")
            self.events.append(event)

    def value(self, expression):
        answer = self.tell("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"]["exception"]["description"])
        return answer["result"]["value"]

    def screenshot(self, path, size):
        picture = self.tell("Page.captureScreenshot", format="png",
                            clip={"x": 0, "y": 0, "width": size[0], "height": size[1], "scale": 1})
        path.write_bytes(base64.b64decode(picture["data"]))

    def close(self):
        try:
            self.ask("Browser.close")
        except (RuntimeError, OSError):
            pass
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
        os.close(self.to)
        os.close(self.answers)


def heard(events, url):
    """What the page said on the console and asked of anything but itself."""
    wrong = []
    for event in events:
        method, parameters = event.get("method"), event.get("params", {})
        if method == "Log.entryAdded":
            wrong.append("console: " + parameters["entry"]["text"])
        elif method == "Runtime.consoleAPICalled":
            wrong.append("console: " + json.dumps(parameters["args"]))
        elif method == "Runtime.exceptionThrown":
            wrong.append("script: " + json.dumps(parameters["exceptionDetails"]))
        elif method == "Network.requestWillBeSent":
            asked = parameters["request"]["url"]
            if asked != url and not asked.startswith("data:"):
                wrong.append("request: " + asked)
    return wrong


def look(browser, page, screenshots):
    url = page.resolve().as_uri()
    wrong = []
    for scheme in ("light", "dark"):
        for size in SIZES:
            browser.open(url, SIZES[size], scheme == "dark")
            found = browser.value(LOOK)
            if size == "wide" and scheme == "light":
                found += browser.value(SORT)
                for link in browser.value(LINKS):
                    if not link.startswith("#") and not (page.parent / urllib.parse.unquote(link)).is_file():
                        found.append(f"a link leads nowhere: {link}")
                commands = browser.value(COMMANDS)
                if not any(c.startswith("ropewalk sweep") for c in commands) or "ropewalk report" not in commands[-1]:
                    found.append("the commands that made the page do not stand at its end")
            wrong += [f"{scheme}, {size}: {what}" for what in found + heard(browser.events, url)]
    if screenshots:
        for name, scheme, size in (("light", False, (960, 1200)), ("dark", True, (960, 1200)), ("narrow", False, (360, 1000))):
            browser.open(url, size, scheme)
            browser.screenshot(screenshots / f"report-{name}.png", size)
    return wrong


SPEC = """title = "A page to look at"
lengths = [4, 8, 16, 32]
[[schedule]]
base = [10, 100, 1000]
planes = 4
[[quantity]]
kind = ["index-margin", "retrieval-margin", "base-sum", "rounding-error"]
[[quantity]]
kind = "index-horizon"
scale = 5
"""


def small_page(binary, folder):
    (folder / "small.toml").write_text(SPEC)
    (folder / "more.toml").write_text(SPEC.replace("A page to look at", "Another"))
    for spec in ("small", "more"):
        subprocess.run([binary, "sweep", f"{spec}.toml", "--store", "small.sqlite"], cwd=folder, check=True,
                       stdout=subprocess.DEVNULL)
    options = [] if shutil.which("gnuplot") else ["--no-pictures"]
    subprocess.run([binary, "report", "small.sqlite", "--out", "small.html", *options], cwd=folder, check=True)
    return folder / "small.html"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("page", nargs="?", type=pathlib.Path)
    parser.add_argument("--binary", type=pathlib.Path, help="ropewalk, to make a page with")
    parser.add_argument("--screenshots", type=pathlib.Path, metavar="DIR", help="also write report-*.png")
    arguments = parser.parse_args()
    if (arguments.page is None) == (arguments.binary is None):
        parser.error("either a page or --binary")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if not chromium:
        print("ropewalk test skipped: no chromium on this machine")
        return 0
    with tempfile.TemporaryDirectory(prefix="ropewalk-page-") as name:
        folder = pathlib.Path(name)
        page = arguments.page or small_page(arguments.binary.resolve(), folder)
        browser = Browser(chromium, folder / "profile")
        try:
            wrong = look(browser, page, arguments.screenshots)
        finally:
            browser.close()
    for line in wrong:
        print(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
