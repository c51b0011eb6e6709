import type * as headwisePackage from "headwise";
import type { Browser, Page } from "playwright-core";

import { WAIT_MILLISECONDS } from "../hangLimits.mjs";
import { serveDist, type Answers } from "./staticServer.js";

/**
 * What functions that run in the page can use: an entry of the package as it is served, and numbers to compute with.
 */
export type Headwise = typeof headwisePackage;
export interface TestWindow {
  readonly headwise: Headwise;
  readonly floats: (...shape: number[]) => { data: Float32Array; shape: number[] };
  /** Records the workers that the page starts from now on. */
  readonly recordWorkers: () => Worker[];
  /** What `promise` gives; an error that names it if it does not come. */
  readonly inTime: <T>(name: string, promise: Promise<T>) => Promise<T>;
  /** How many messages the page gets while `work` runs: thousands, or almost none if its thread is blocked. */
  readonly heardDuring: (work: () => Promise<unknown>) => Promise<number>;
}

interface Opening {
  /** Headers of the page. */
  readonly headers?: Readonly<Record<string, string>>;
  /** What the server answers in place of files. */
  readonly answers?: Answers;
  /** Address of the entry. Default: on the page's own server. */
  readonly entry?: string;
  /** A host name that the browser resolves to this machine. */
  readonly host?: string;
}

/** Opens a page and loads an entry of the package. `troubles` collects the page's errors and warnings. */
export async function openPage(browser: Browser, { headers = {}, answers, entry = "/index.js", host }: Opening) {
  const server = await serveDist(headers, answers);
  const page: Page = await browser.newPage();
  const troubles: string[] = [];
  page.on("pageerror", (error) => troubles.push(error.message));
  await page.goto(host ? server.url.replace("127.0.0.1", host) : server.url);
  const opened = { address: entry, patience: WAIT_MILLISECONDS };
  await page.evaluate(async ({ address, patience }) => {
    const floats = (...shape: number[]) => ({
      data: Float32Array.from({ length: shape.reduce((n, x) => n * x, 1) }, (_, k) => Math.sin(k + 1)),
      shape,
    });
    const recordWorkers = () => {
      const workers: Worker[] = [];
      window.Worker = class extends Worker {
        constructor(...options: ConstructorParameters<typeof Worker>) {
          super(...options);
          workers.push(this);
        }
      };
      return workers;
    };
    const inTime = <T>(name: string, promise: Promise<T>) =>
      new Promise<T>((resolve, reject) => {
        setTimeout(() => reject(new Error(`${name} did not come`)), patience);
        promise.then(resolve, reject);
      });
    const heardDuring = async (work: () => Promise<unknown>) => {
      let heard = 0;
      const { port1, port2 } = new MessageChannel();
      port1.onmessage = () => {
        ++heard;
        port2.postMessage(0);
      };
      port2.postMessage(0);
      await work();
      port1.close();
      return heard;
    };
    Object.assign(window, {
      headwise: (await import(address)) as Headwise,
      floats,
      recordWorkers,
      inTime,
      heardDuring,
    });
  }, opened);
  const close = async () => {
    await page.close();
    server.stop();
  };
  return { page, troubles, close };
}
