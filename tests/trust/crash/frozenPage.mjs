// A page that the browser freezes. Playwright tells its own pages that they have the focus, and a page with the focus is
// never frozen. So this page is made and driven by the browser's protocol alone.

import { setTimeout as pause } from "node:timers/promises";

/** @param browser - of playwright */
export async function openFreezable(browser, url) {
  const protocol = await browser.newBrowserCDPSession();
  const { targetId } = await protocol.send("Target.createTarget", { url });
  const { sessionId } = await protocol.send("Target.attachToTarget", { targetId, flatten: false });
  const waiting = new Map();
  protocol.on("Target.receivedMessageFromTarget", (event) => {
    const { id, result, error } = JSON.parse(event.message);
    if (event.sessionId !== sessionId || !id) return;
    waiting.get(id)(error ? { error } : result);
    waiting.delete(id);
  });
  let last = 0;
  const send = (method, params = {}) =>
    new Promise((resolve, reject) => {
      const id = ++last;
      waiting.set(id, resolve);
      protocol
        .send("Target.sendMessageToTarget", { sessionId, message: JSON.stringify({ id, method, params }) })
        .catch(reject);
    });
  /** Runs a function of the page's module `scenes`, or any expression. */
  const evaluate = async (expression) => {
    const { result, exceptionDetails, error } = await send("Runtime.evaluate", {
      expression,
      awaitPromise: true,
      returnByValue: true,
    });
    if (error) throw new Error(error.message);
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
  };
  const setState = (state) => send("Page.setWebLifecycleState", { state });
  const isThere = () => evaluate("location.href").then((href) => href === url, () => false); // oxfmt-ignore
  while (!(await isThere())) await pause(100);
  return { evaluate, setState };
}
