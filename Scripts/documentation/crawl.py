"""Visits every page of the built site in a browser; see Scripts/check-site.

usage: crawl.py SITE SCREENSHOTS [--widths 390,820,1440] [--only TEXT] [--jobs N]
"""

import argparse
import base64
import concurrent.futures
import functools
import http.server
import os
import pathlib
import sys
import threading
import time
import urllib.parse

from browser import Browser, Failure

# What is looked at by people: the landing page, a guide, a large type, a function, a module.
PICTURES = ["/", "/documentation/", "/documentation/guides/", "/documentation/guides/concurrency/",
            "/documentation/securestorage/", "/documentation/securestorage/securedatabasestore/",
            "/documentation/securestorage/securedatabasequeue/"]

# A page of docc has a title when it has been drawn, and its error page has another class.
READY = ("document.querySelector('main.landing, .doc-topic h1, .tutorials-overview h1, .tutorial h1, .article h1,"
         " .error-content')")
LOOK = """(() => {
  const links = [...document.querySelectorAll('a[href]')].map(a => a.href);
  const wide = document.documentElement.scrollWidth - window.innerWidth;
  const missing = !!document.querySelector('.error-content');
  const empty = [...document.querySelectorAll('.contenttable-section')]
    .filter(s => !s.querySelector('a')).map(s => s.innerText.slice(0, 60));
  const images = [...document.images].filter(i => i.complete && !i.naturalWidth).map(i => i.src);
  return {links, wide, missing, empty, images, title: document.title};
})()"""


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True


class Handler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *arguments):
        pass

    def handle(self):
        try:
            super().handle()
        except ConnectionError:
            pass


def problems_of(events):
    """Returns what the browser reports: errors of scripts, and files that did not load."""
    addresses, found = {}, []
    for event in events:
        method, parameters = event["method"], event["params"]
        if method == "Network.requestWillBeSent":
            addresses[parameters["requestId"]] = parameters["request"]["url"]
        elif method == "Network.responseReceived" and parameters["response"]["status"] >= 400:
            found.append(f"{parameters['response']['status']} for {parameters['response']['url']}")
        elif method == "Network.loadingFailed" and not parameters.get("canceled"):
            found.append(f"{parameters['errorText']} for {addresses.get(parameters['requestId'])}")
        elif method == "Runtime.exceptionThrown":
            details = parameters["exceptionDetails"]
            found.append("script error: " + details.get("exception", {}).get("description", details["text"])[:300])
        elif method == "Runtime.consoleAPICalled" and parameters["type"] == "error":
            found.append("script error: " + str([a.get("value", a.get("description")) for a in parameters["args"]])[:300])
    return found


def capture(browser, url, folder, path):
    name = path.strip("/").replace("/", "-") or "index"
    for width, height in ((390, 844), (1440, 900)):
        for dark in (False, True):
            browser.resize(width, height, dark)
            browser.visit(url, READY)
            time.sleep(0.4)  # pictures and colours fade in
            data = browser.call("Page.captureScreenshot", format="png")["data"]
            theme = "dark" if dark else "light"
            (folder / f"{name}-{width}-{theme}.png").write_bytes(base64.b64decode(data))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("site", type=pathlib.Path)
    parser.add_argument("screenshots", type=pathlib.Path)
    parser.add_argument("--widths", default="390,820,1440")
    parser.add_argument("--only", default="")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    arguments = parser.parse_args()

    data = arguments.site / "data"
    pages = ["/"] + sorted("/" + file.relative_to(data).with_suffix("").as_posix() + "/"
                           for file in data.rglob("*.json"))
    chosen = [path for path in pages if arguments.only in path]
    sizes = {path: (data / (path.strip("/") + ".json")).stat().st_size for path in pages if path != "/"}
    server = Server(("127.0.0.1", 0), functools.partial(Handler, directory=str(arguments.site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    root = f"http://127.0.0.1:{server.server_port}"
    known = set(pages)
    files = {}
    problems, links, slowest = [], 0, (0, "")
    widths = sorted(map(int, arguments.widths.split(",")), reverse=True)
    begin = time.monotonic()

    def look_at(paths):
        """Visits pages in a browser of its own, and returns problems, links and the longest visit."""
        problems, links, slowest = [], [], (0, "")
        browser = Browser()
        try:
            for path in paths:
                try:
                    # With cached scripts; the largest page is measured without them below.
                    browser.resize(widths[0], 900)
                    slowest = max(slowest, (browser.visit(root + urllib.parse.quote(path), READY), path))
                    looks = []
                    for width in widths:
                        browser.resize(width, 900)
                        looks.append((f"{path} at {width}", browser.evaluate(LOOK)))
                except Failure as failure:
                    problems.append(f"{path}: {failure}")
                    continue
                problems += [f"{path}: {problem}" for problem in problems_of(browser.take_events())]
                for place, look in looks:
                    if look["missing"]:
                        problems.append(f"{place}: docc's error page")
                    if look["wide"] > 0:
                        problems.append(f"{place}: {look['wide']} points wider than the window")
                    problems += [f"{place}: the group {text!r} is empty" for text in look["empty"]]
                    problems += [f"{place}: the picture {source} does not show" for source in look["images"]]
                    links += [(place, link) for link in look["links"]]
        finally:
            browser.close()
        return problems, links, slowest

    shares = [chosen[number::arguments.jobs] for number in range(arguments.jobs)]
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as executor:
        for found, seen, longest in executor.map(look_at, shares):
            problems += found
            slowest = max(slowest, longest)
            links += len(seen)
            for place, link in seen:
                if not link.startswith(root):
                    continue
                target = urllib.parse.unquote(link[len(root):]).split("#")[0].split("?")[0]
                if target.rstrip("/").lower() + "/" in known:
                    continue
                if target not in files:
                    files[target] = (arguments.site / target.strip("/")).is_file()
                if not files[target]:
                    problems.append(f"{place}: a link to {target}, which does not exist")

    browser = Browser()
    try:
        largest = max(sizes, key=sizes.get)
        browser.resize(1440, 900)
        times = []
        for _ in range(5):
            browser.call("Network.clearBrowserCache")
            times.append(browser.visit(root + largest, READY))
        if sorted(times)[2] > 1:
            problems.append(f"{largest}: {sorted(times)[2]:.2f} s with an empty cache, more than 1 s")
        arguments.screenshots.mkdir(parents=True, exist_ok=True)
        for path in PICTURES + [path for path in pages if path.startswith("/tutorials/")][:2]:
            if path in known:
                capture(browser, root + path, arguments.screenshots, path)
    finally:
        browser.close()

    for problem in problems:
        print("check-site:", problem, file=sys.stderr)
    print(f"check-site: {len(chosen)} pages at {len(widths)} widths in {time.monotonic() - begin:.0f} s, {links} links, "
          f"{len(problems)} problems; the largest page, {largest} ({sizes[largest]} bytes), takes "
          f"{sorted(times)[2] * 1000:.0f} ms with an empty cache; the slowest visit took {slowest[0] * 1000:.0f} ms, "
          f"{slowest[1]}")
    sys.exit(1 if problems else 0)


main()
