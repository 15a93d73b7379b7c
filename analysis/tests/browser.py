"""Opens a page in a headless Chromium, at the widths of a phone and of a desk, and tells what a script found there."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PHONE, DESK = 360, 1280
TIMEOUT_S = 120

HARNESS = """<!doctype html><body><pre id="found"></pre><script>
const open = (width) => new Promise((resolve) => {
  const frame = document.createElement("iframe");
  frame.width = width; frame.height = 900; frame.src = "@PAGE@";
  frame.onload = () => resolve(frame.contentWindow);
  document.body.append(frame);
});
(async () => {
  let found;
  try {
    const phone = await open(@PHONE@), desk = await open(@DESK@);
    found = (@PROBE@)(phone, desk);
  } catch (error) { found = { failed: String(error && error.stack || error) }; }
  document.getElementById("found").textContent = JSON.stringify(found);
})();
</script>"""


@dataclass(frozen=True)
class Visit:
    """The result of a visit of a page.

    Attributes:
        found: the return value of the probe.
        console: errors and warnings on the console.
    """

    found: dict[str, Any]
    console: list[str]


def chromium() -> str | None:
    """The browser, if there is one."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


def visit(page: Path, probe: str, *, dark: bool = False) -> Visit:
    """Run `probe`, a function of the two windows in JavaScript, on `page`, a copy of which nothing is kept.

    The harness lies beside the page; no name of a host can be resolved meanwhile.
    """
    program = chromium()
    assert program is not None
    harness = page.with_name("harness.html")
    text = (
        HARNESS.replace("@PAGE@", page.name)
        .replace("@PHONE@", str(PHONE))
        .replace("@DESK@", str(DESK))
    )
    harness.write_text(text.replace("@PROBE@", probe), encoding="utf-8")
    command = [
        program,
        "--headless",
        "--no-sandbox",  # it opens nothing but our own page, and may run as root
        "--disable-gpu",
        "--hide-scrollbars",  # as on a phone
        "--disable-dev-shm-usage",
        "--disable-background-networking",
        "--host-resolver-rules=MAP * ~NOTFOUND",
        "--allow-file-access-from-files",
        "--enable-logging=stderr",
        f"--user-data-dir={page.parent / 'profile'}",
        f"--blink-settings=preferredColorScheme={0 if dark else 1}",
        f"--window-size={DESK + 100},2000",
        "--virtual-time-budget=20000",
        "--dump-dom",
        harness.as_uri(),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=True)  # noqa: S603
    told = re.search(r'<pre id="found">(.*?)</pre>', done.stdout, re.DOTALL)
    assert told, done.stderr
    console = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    return Visit(json.loads(unescape(told[1])), console)
