// node webkit.mjs MINIBROWSER URL: opens the page in WebKitGTK and prints, as JSON, the version of the browser and what the
// page leaves in `outcome`.
//
// WebKitGTK needs a display: run it with xvfb-run. Its driver speaks the WebDriver protocol (a standard of the W3C). The
// clients on npm need Node 22, and four requests are all that is used here.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";

import { WAIT_MILLISECONDS } from "../hangLimits.mjs";

const [binary, url] = process.argv.slice(2);
const PORT = 20000 + (process.pid % 20000);
const AT = `http://127.0.0.1:${PORT}`;

async function request(method, path, body) {
  const answer = await fetch(AT + path, { method, ...(body && { body: JSON.stringify(body) }) });
  const { value } = await answer.json();
  if (!answer.ok) throw new Error(`${method} ${path}: ${value.error}: ${value.message}`);
  return value;
}

/** The driver listens a moment after it has started. */
async function whenReady() {
  for (let left = WAIT_MILLISECONDS; left > 0; left -= 100) {
    const status = await request("GET", "/status").catch(() => undefined);
    if (status?.ready) return;
    await sleep(100);
  }
  throw new Error("the driver of WebKitGTK does not answer");
}

/** `outcome` may be a promise; JSON keeps undefined fields out, as the other browsers' drivers do. */
const READ_OUTCOME = `
  const done = arguments[0];
  const look = () => ("outcome" in globalThis ? Promise.resolve(outcome).then(done) : setTimeout(look, 50));
  look();`;

async function visit() {
  await whenReady();
  const options = { binary, args: ["--automation"] };
  const timeouts = { script: WAIT_MILLISECONDS, pageLoad: WAIT_MILLISECONDS };
  const capabilities = { alwaysMatch: { "webkitgtk:browserOptions": options, timeouts } };
  const { sessionId, capabilities: found } = await request("POST", "/session", { capabilities });
  const session = `/session/${sessionId}`;
  try {
    await request("POST", `${session}/url`, { url });
    const outcome = await request("POST", `${session}/execute/async`, { script: READ_OUTCOME, args: [] });
    return { version: found.browserVersion, outcome };
  } finally {
    await request("DELETE", session);
  }
}

// Its sandbox wants user namespaces, which containers often lack. The page is our own.
const env = { ...process.env, WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS: "1" };
const driver = spawn("WebKitWebDriver", [`--port=${PORT}`], { env, stdio: ["ignore", 2, 2] });
try {
  console.log(JSON.stringify(await visit()));
} finally {
  driver.kill();
  await once(driver, "exit");
}
