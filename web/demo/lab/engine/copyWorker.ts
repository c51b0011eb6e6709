import { copyFor, type CopyReply, type CopyRequest } from "./copying.js";

/** The part of a worker's global scope that is used here. TypeScript's DOM types describe a window. */
interface WorkerScope {
  postMessage(message: CopyReply): void;
  onmessage: ((event: MessageEvent<CopyRequest>) => void) | null;
}

const scope = self as unknown as WorkerScope;
scope.onmessage = ({ data: { milliseconds, bytes } }) => scope.postMessage(copyFor(milliseconds, bytes));
