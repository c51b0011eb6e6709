// One server of the lab for all files of the stage `browser`. A file that runs alone starts its own.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

const LAB = fileURLToPath(new URL("../../dist-demo/cli.js", import.meta.url));

/** Starts it. `env` tells the tests where it is. */
export async function shareLab() {
  const lab = spawn(process.execPath, [LAB, "--port", "0", "--text", "Hi."], { stdio: ["ignore", "pipe", "inherit"] });
  const url = await addressOf(lab);
  return {
    env: { HEADWISE_SHARED_LAB: url },
    async end() {
      const closed = once(lab, "close");
      lab.kill();
      await closed;
    },
  };
}

function addressOf(lab) {
  return new Promise((resolve, reject) => {
    let printed = "";
    lab.stdout.setEncoding("utf8").on("data", (text) => {
      const found = /http:\/\/localhost:\d+\//.exec((printed += text));
      if (found) resolve(found[0]);
    });
    lab.once("close", () => reject(new Error("the lab ended before it was served")));
  });
}
