import "./room.css";
import "./model/model.css";

import type { Floats } from "../../engine/floats.js";
import type { GivenModel } from "../../engine/ownModel.js";
import { button, choices, panel, slider, toggle } from "../../shell/controls.js";
import { card, element } from "../../shell/element.js";
import { attentionMap } from "../../shell/maps.js";
import { decimal } from "../../shell/numbers.js";
import { room as makeRoom, type RoomView } from "../../shell/room.js";
import { save } from "../../shell/save.js";
import { compute, extents, fill, type Result } from "./compute.js";
import { callDifferences } from "./exactCall.js";
import { writeNpy } from "./files/npy.js";
import { attentionCall, fields, layerCall, type AttentionCall, type LayerCall, type Settings } from "./problem.js";
import type { ModelBoard } from "./model/board.js";
import { ATTENTION_ROLES, LAYER_ROLES } from "./roles.js";
import { Shelf } from "./shelf.js";
import { snippet } from "./snippet.js";
import { finding, mapWords, nothing, outputWords, randomWords, type Shown } from "./words.js";
import { t } from "../../../texts/t.js";

export const room = makeRoom(fields, open);

/** The weights of a model are in such files, in its folder. */
const WEIGHTS = /^model\b.*\.safetensors$/;

function open(view: RoomView<typeof fields>): void {
  const { state, stage } = view;
  /** The visitor's model; undefined: the example. */
  let given: GivenModel;
  let board: ModelBoard | undefined;
  const takeModel = (model: GivenModel) => {
    given = model;
    board?.close();
    state.set({ mode: "model", word: "" }); // another model gives its tokens other numbers
    view.redraw();
  };
  const take = (files: readonly File[]) => {
    if (isModel(files, state.values)) return takeModel(files);
    if (state.values.mode === "model") state.set({ mode: "attention" });
    void shelf.take(files);
  };
  const shelf = new Shelf(() => view.redraw(), take);
  const shown = new ResultView();
  const tensors = element(
    "div",
    { class: "column" },
    card(t`Files`, shelf.node),
    tensorControls(view),
    element("div", { class: "halves" }, card(t`Which tensor is what`, shelf.roles), shown.result),
    shown.weights,
  );
  const model = element("div");
  stage.append(modes(view), model, tensors);
  view.onFiles(take);
  view.onClose(() => board?.leave());
  view.onDraw(async (settings) => {
    const isWhole = settings.mode === "model";
    tensors.hidden = isWhole;
    model.hidden = !isWhole;
    if (isWhole) {
      board ??= await openBoard(view, model, (taken) => (taken && !("name" in taken) ? take(taken) : takeModel(taken)));
      return board.show(settings, given);
    }
    const roles = rolesOf(settings);
    const assigned = shelf.assign(roles);
    const missing = roles.filter(({ id, optional }) => !optional && !assigned.has(id));
    if (missing.length > 0) {
      shown.clear();
      view.random("");
      return view.finding(nothing(missing, shelf.count));
    }
    try {
      const call = callOf(assigned, settings);
      const result = await compute(view.engine, call);
      const about = {
        ...extents(call),
        isExample: shelf.isExample,
        inputs: roles.flatMap(({ id, label }) => (assigned.has(id) ? [[label, assigned.get(id)!.name] as const] : [])),
        randomTokens: call.kind === "layer" && !assigned.has("x") ? call.x.shape[1]! : 0,
      };
      view.finding(finding(about));
      view.random(randomWords(about));
      shown.show(about, result, fill(shown.map, view.engine, call, result));
    } catch (error) {
      shown.clear();
      view.finding(t`Nothing is shown: these tensors and settings do not fit.`);
      view.random("");
      throw error;
    }
  });
  view.onCode(() => snippet(state.values));
  view.onCheck(async (settings) => {
    if (settings.mode === "model" && board) return board.check(settings, given);
    const call = callOf(shelf.assign(rolesOf(settings)), settings);
    const { output, probs } = await compute(view.engine, call);
    if (!probs) throw new Error(t`the definition would take minutes on tensors of this size`);
    return callDifferences(call, { output, probs });
  });
}

function rolesOf({ mode }: Settings) {
  return mode === "layer" ? LAYER_ROLES : ATTENTION_ROLES;
}

function callOf(assigned: Parameters<typeof layerCall>[0], settings: Settings): AttentionCall | LayerCall {
  return settings.mode === "layer" ? layerCall(assigned, settings) : attentionCall(assigned, settings);
}

/** Whether files are those of a model: tensors have no config.json, and only the weights of a model have such names. */
function isModel(files: readonly File[], { mode }: Settings): boolean {
  if (files.some(({ name }) => name === "config.json")) return true;
  return mode === "model" && !files.some(({ name }) => isOfTensors(name));
}

function isOfTensors(name: string): boolean {
  return name.endsWith(".npy") || (name.endsWith(".safetensors") && !WEIGHTS.test(name));
}

/** The code of the board is loaded when it is needed. */
async function openBoard(
  view: RoomView<typeof fields>,
  place: HTMLElement,
  take: (given: GivenModel) => void,
): Promise<ModelBoard> {
  const { ModelBoard } = await import("./model/board.js");
  const board = new ModelBoard(view, take);
  place.replaceChildren(board.node);
  return board;
}

function modes({ state }: RoomView<typeof fields>): HTMLElement {
  const names = { model: t`a whole model`, layer: t`weights of a layer`, attention: t`queries, keys, values` };
  return panel(choices(state, "mode", t`I have`, names));
}

function tensorControls({ state }: RoomView<typeof fields>): HTMLElement {
  const nodes = {
    layout: choices(state, "layout", t`Layout`),
    heads: slider(state, "heads", t`Heads`),
    kvHeads: slider(state, "kvHeads", t`Key heads`),
    scale: slider(state, "scale", t`Scale × √D`, (value) => decimal(value, 1)),
    stored: choices(state, "stored", t`Weights stored`, { "in-out": "[in, out]", "out-in": "[out, in]" }),
  };
  const show = ({ mode, layout }: Settings) => {
    const isLayer = mode === "layer";
    nodes.layout.hidden = nodes.scale.hidden = isLayer;
    nodes.stored.hidden = !isLayer;
    nodes.heads.hidden = nodes.kvHeads.hidden = !isLayer && (layout === "BHSD" || layout === "BSHD");
  };
  show(state.values);
  state.onChange(() => show(state.values));
  return panel(...Object.values(nodes), toggle(state, "causal", t`Causal`));
}

/** The output, what can be saved of it, and the map. Hidden while there is no result. */
class ResultView {
  readonly map = attentionMap(t`Weights of your tensors`);
  readonly #output = element("p", { class: "finding", role: "status" });
  readonly #about = element("p", { class: "hint" });
  readonly #saves = element("div", { class: "row" });
  readonly result = card(t`Result`, this.#output, this.#saves);
  readonly weights = card(t`Weights`, this.#about, this.map);

  show(shown: Shown, { output, probs }: Result, isDrawn: boolean): void {
    this.#output.textContent = outputWords(output);
    this.#about.textContent = mapWords(shown, probs !== undefined, isDrawn);
    const prefix = shown.isExample ? "example-" : "";
    this.#saves.replaceChildren(
      saver(`${prefix}output.npy`, output),
      ...(probs ? [saver(`${prefix}probs.npy`, probs)] : []),
    );
    this.result.hidden = this.weights.hidden = false;
    this.map.hidden = !isDrawn;
  }

  clear(): void {
    this.#output.textContent = "";
    this.#saves.replaceChildren();
    this.result.hidden = this.weights.hidden = true;
  }
}

function saver(name: string, { shape, data }: Floats): HTMLButtonElement {
  return button(t`Save ${name}`, () => save(name, writeNpy(shape, data)));
}
