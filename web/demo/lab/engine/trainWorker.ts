import { afterMessages } from "./afterMessages.js";
import { asFailure } from "./asFailure.js";
import { openAttention } from "./openAttention.js";
import type { PairStep, TrainOrder, TrainReply, TrainRequest } from "./trainProtocol.js";
import { TrainedPair } from "./trainedPair.js";

/** The part of a worker's global scope that is used here. TypeScript's DOM types describe a window. */
interface WorkerScope {
  postMessage(message: TrainReply): void;
  onmessage: ((event: MessageEvent<TrainRequest>) => void) | null;
}

const scope = self as unknown as WorkerScope;
const say = (reply: TrainReply) => scope.postMessage(reply);

/** The page hears of new steps at most so often. */
const TELL_MS = 100;

let pair: TrainedPair;
/** How many steps are still to do. */
let left = 0;
let isTraining = false;
/** The checkpoint that is shown; undefined: the latest step. */
let shown: number | undefined;
/** Steps that the page has not heard of, and when it heard last. */
let untold: PairStep[] = [];
let since = 0;
/** What has been asked for and not been done. One thing is done after another. */
let turn = Promise.resolve();

scope.onmessage = ({ data }) => {
  if (data.kind === "pause") left = 0;
  else if (data.kind === "run") run(data.steps);
  else inTurn(() => answer(data));
};

function run(steps: number): void {
  left = steps;
  if (!isTraining) train();
}

function inTurn(work: () => void | Promise<void>): void {
  turn = turn.then(work).catch((error: unknown) => {
    left = 0;
    isTraining = false;
    say({ kind: "failed", reason: asFailure(error) });
  });
}

async function answer(request: Exclude<TrainRequest, { kind: "run" | "pause" }>): Promise<void> {
  switch (request.kind) {
    case "begin":
      return begin(request.order);
    case "gains":
      pair.gains = request.gains;
      return show(false);
    case "show":
      shown = request.step;
      return show(false);
    case "file":
      return say({ kind: "file", bytes: await pair.file(request.layer, shown) });
    case "model":
      return say({ kind: "model", files: pair.modelFiles(shown) });
    case "keep":
      tell(); // the page's history goes with it
      return say({ kind: "kept", kept: pair.kept });
    case "check":
      return say({ kind: "checked", differences: await pair.check(shown) });
    default:
      request satisfies never;
  }
}

async function begin({ engine, ...order }: TrainOrder): Promise<void> {
  const hw = await openAttention(engine);
  pair = await TrainedPair.create(hw, order);
  say({ kind: "ready", threads: hw.report.threads, parameters: pair.size });
  await show(true);
}

async function show(isNew: boolean): Promise<void> {
  const asked = isNew ? undefined : shown;
  say({ kind: "picture", picture: await pair.look(asked), isNew, asked, checkpoints: pair.checkpoints });
}

function tell(): void {
  const now = performance.now();
  if (untold.length > 0) say({ kind: "steps", steps: untold, milliseconds: now - since });
  [untold, since] = [[], now];
}

/** Learns until no step is left. After every step it is the turn of what the page has asked for. */
function train(): void {
  isTraining = true;
  since = performance.now();
  const next = async () => {
    if (left === 0) {
      tell();
      if (!pair.isLook) await show(true);
    }
    // More steps may have been asked for meanwhile.
    if (left === 0) {
      isTraining = false;
      return say({ kind: "paused" });
    }
    left--;
    untold.push(await pair.learn());
    if (performance.now() - since > TELL_MS || left === 0) tell();
    if (pair.isLook) await show(true);
    void afterMessages().then(() => inTurn(next));
  };
  inTurn(next);
}
