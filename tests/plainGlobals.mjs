// Jest's environment of Node. Names of the language are found as fast as outside of Jest, and a failed test may say more.

import { runInContext } from "node:vm";

import { TestEnvironment } from "jest-environment-node";

/**
 * What loops read. In a context of node:vm each reading of a global calls a function of Node, which takes a hundred times as
 * long as a product. A name that a script declares is found without it. No test replaces one of these.
 */
const READ_OFTEN = [
  "Math",
  "Number",
  "Object",
  "Array",
  "ArrayBuffer",
  "DataView",
  "Float32Array",
  "Float64Array",
  "Int32Array",
  "Uint8Array",
  "Uint16Array",
  "Uint32Array",
];

export default class PlainGlobals extends TestEnvironment {
  constructor(...given) {
    super(...given);
    const declared = READ_OFTEN.map((name) => `${name} = globalThis.${name}`);
    runInContext(`const ${declared.join(", ")};`, this.getVmContext());
  }

  /** A test that fails may say more before its hooks close what it has opened. */
  async handleTestEvent({ name }) {
    if (name === "test_fn_failure") await this.global.onFailure?.();
  }
}
