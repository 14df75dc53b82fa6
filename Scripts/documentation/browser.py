"""A headless Chromium, driven by its DevTools protocol over a pipe, with nothing but Python."""

import json
import os
import shutil
import subprocess
import tempfile
import time


class Failure(Exception):
    pass


class Browser:
    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="site-browser-")
        # Chromium reads commands from descriptor 3 and writes to descriptor 4.
        command_read, self.commands = os.pipe()
        self.replies, reply_write = os.pipe()
        arguments = ["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                     "--no-first-run", "--hide-scrollbars", "--disable-background-networking",
                     f"--user-data-dir={self.folder}", "--remote-debugging-pipe", "about:blank"]

        def connect():
            # Out of the way first: one of the pipes may have these numbers itself.
            read, write = os.dup(command_read), os.dup(reply_write)
            while read < 5:
                read = os.dup(read)
            while write < 5:
                write = os.dup(write)
            os.dup2(read, 3)
            os.dup2(write, 4)

        self.process = subprocess.Popen(
            arguments, preexec_fn=connect, close_fds=False,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(command_read)
        os.close(reply_write)
        self.buffer = b""
        self.number = 0
        self.session = None
        self.events = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(domain + ".enable")

    def close(self):
        self.process.terminate()
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def call(self, method, **parameters):
        self.number += 1
        number = self.number
        message = {"id": number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.commands, json.dumps(message).encode() + b"\0")
        while True:
            reply = self.receive()
            if reply.get("id") == number:
                if "error" in reply:
                    raise Failure(f"{method}: {reply['error']['message']}")
                return reply["result"]
            if "method" in reply:
                self.events.append(reply)

    def receive(self):
        while b"\0" not in self.buffer:
            part = os.read(self.replies, 1 << 20)
            if not part:
                raise Failure("Chromium has ended")
            self.buffer += part
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def evaluate(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in result:
            raise Failure(f"{expression[:60]}: {result['exceptionDetails'].get('text')}")
        return result["result"].get("value")

    def take_events(self):
        events, self.events = self.events, []
        return events

    def resize(self, width, height, dark=False):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=width < 600)
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def visit(self, url, is_ready, timeout=20):
        """Goes to an address and returns the seconds until `is_ready`, a condition in JavaScript."""
        self.take_events()
        begin = time.monotonic()
        self.call("Page.navigate", url=url)
        while True:
            try:
                if self.evaluate(f"document.readyState == 'complete' && !!({is_ready})"):
                    return time.monotonic() - begin
            except Failure as failure:
                # While one page replaces the other, there is nothing to ask.
                if "context" not in str(failure).lower():
                    raise
            if time.monotonic() - begin > timeout:
                raise Failure(f"{url} has nothing to show after {timeout} s")
            time.sleep(0.01)
