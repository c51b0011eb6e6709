import "./room.css";

import type { AttentionMap } from "headwise/viz";

import type { Engine } from "../../engine/engine.js";
import type { Floats } from "../../engine/floats.js";
import { button, choices, panel, slider, toggle } from "../../shell/controls.js";
import { card, element } from "../../shell/element.js";
import { attentionMap } from "../../shell/maps.js";
import { decimal } from "../../shell/numbers.js";
import { room as makeRoom, type RoomView } from "../../shell/room.js";
import { EXAMPLE } from "./example.js";
import { callDifferences } from "./exactCall.js";
import { writeNpy } from "./files/npy.js";
import { openFile } from "./files/open.js";
import type { FileEntry } from "./files/safetensors.js";
import { attentionCall, fields, layerCall, type AttentionCall, type LayerCall, type Settings } from "./problem.js";
import { assign, ATTENTION_ROLES, LAYER_ROLES, type Role } from "./roles.js";
import { snippet } from "./snippet.js";

/** Above this number of weights, rows are computed only when they are shown. */
const LARGEST_WHOLE = 2 ** 23;

export const room = makeRoom(fields, open);

interface Result {
  readonly output: Floats;
  /** Absent if there are too many. */
  readonly probs?: Floats;
}

function open(view: RoomView<typeof fields>): void {
  const { state, stage } = view;
  const shelf = new Shelf(() => view.redraw());
  const map = attentionMap("Weights of your tensors");
  const about = element("p", { class: "finding", role: "status" });
  const saves = element("div", { class: "row" });
  stage.append(
    card("Files", shelf.node),
    controls(view),
    element("div", { class: "halves" }, card("Which tensor is what", shelf.roles), card("Result", about, saves)),
    card("Weights", map),
  );
  view.onDraw(async (settings) => {
    const call = shelf.call(settings);
    const result = await compute(view.engine, call);
    about.textContent = `Output [${result.output.shape.join(", ")}], from ${decimal(Math.min(...sample(result.output)))} to ${decimal(Math.max(...sample(result.output)))}.`;
    saves.replaceChildren(
      button("Save output.npy", () => save("output.npy", result.output)),
      ...(result.probs ? [button("Save probs.npy", () => save("probs.npy", result.probs!))] : []),
    );
    fill(map, view.engine, call, result);
  });
  view.onCode(() => snippet(state.values));
  view.onCheck(async (settings) => {
    const call = shelf.call(settings);
    const { output, probs } = await compute(view.engine, call);
    if (!probs) throw new Error("the definition would take minutes on tensors of this size");
    return callDifferences(call, { output, probs });
  });
}

function controls({ state }: RoomView<typeof fields>): HTMLElement {
  const nodes = {
    layout: choices(state, "layout", "Layout"),
    heads: slider(state, "heads", "Heads"),
    kvHeads: slider(state, "kvHeads", "Key heads"),
    scale: slider(state, "scale", "Scale × √D", (value) => decimal(value, 1)),
    stored: choices(state, "stored", "Weights stored", { "in-out": "[in, out]", "out-in": "[out, in]" }),
  };
  const show = ({ mode, layout }: Settings) => {
    const isLayer = mode === "layer";
    nodes.layout.hidden = nodes.scale.hidden = isLayer;
    nodes.stored.hidden = !isLayer;
    nodes.heads.hidden = nodes.kvHeads.hidden = !isLayer && (layout === "BHSD" || layout === "BSHD");
  };
  show(state.values);
  state.onChange(() => show(state.values));
  const mode = choices(state, "mode", "I have", { attention: "queries, keys, values", layer: "weights of a layer" });
  return panel(mode, ...Object.values(nodes), toggle(state, "causal", "Causal"));
}

/** The dropped tensors and their roles. */
class Shelf {
  readonly node: HTMLElement;
  readonly roles = element("div", { class: "roles" });
  readonly #redraw: () => void;
  readonly #list = element("ul", { class: "tensors" });
  readonly #trouble = element("p", { class: "failure", role: "alert" });
  readonly #chosen = new Map<string, string>();
  #entries: readonly FileEntry[] = EXAMPLE;

  constructor(redraw: () => void) {
    this.#redraw = redraw;
    this.#trouble.hidden = true;
    const input = element("input", { type: "file", multiple: "", accept: ".npy,.safetensors", id: "files" });
    const zone = element(
      "label",
      { class: "drop", for: "files" },
      element("b", {}, "Drop .npy or .safetensors here, or choose files"),
      element("span", {}, "They are read in this page and go nowhere."),
      input,
    );
    input.onchange = () => void this.#take([...(input.files ?? [])]);
    zone.ondragover = (event) => event.preventDefault();
    zone.ondrop = (event) => {
      event.preventDefault();
      void this.#take([...(event.dataTransfer?.files ?? [])]);
    };
    this.node = element("div", { class: "shelf" }, zone, this.#trouble, this.#list);
    this.#showList();
  }

  call(settings: Settings): AttentionCall | LayerCall {
    const roles = settings.mode === "layer" ? LAYER_ROLES : ATTENTION_ROLES;
    const assigned = assign(roles, this.#entries, this.#chosen);
    this.#showRoles(roles, assigned);
    return settings.mode === "layer" ? layerCall(assigned, settings) : attentionCall(assigned, settings);
  }

  async #take(files: readonly File[]): Promise<void> {
    this.#trouble.hidden = true;
    try {
      const opened = (await Promise.all(files.map(openFile))).flat();
      const kept =
        this.#entries === EXAMPLE
          ? []
          : this.#entries.filter(({ name }) => !opened.some((other) => other.name === name));
      this.#entries = [...kept, ...opened];
      this.#chosen.clear();
      this.#showList();
      this.#redraw();
    } catch (error) {
      this.#trouble.textContent = error instanceof Error ? error.message : String(error);
      this.#trouble.hidden = false;
    }
  }

  #showList(): void {
    const items = this.#entries.map(({ name, shape, stored }) =>
      element("li", {}, element("code", {}, name), ` ${stored} [${shape.join(", ")}]`),
    );
    this.#list.replaceChildren(
      ...(this.#entries === EXAMPLE ? [element("li", {}, "Until then, an example of random numbers:")] : []),
      ...items,
    );
  }

  #showRoles(roles: readonly Role[], assigned: ReadonlyMap<string, FileEntry>): void {
    const named = (name: string) => element("option", { value: name }, name);
    const rows = roles.map(({ id, label, optional }) => {
      const list = element(
        "select",
        { id: `role-${id}` },
        ...(optional ? [element("option", { value: "" }, id === "x" ? "random tokens" : "none")] : []),
        ...this.#entries.map(({ name }) => named(name)),
      );
      list.value = assigned.get(id)?.name ?? "";
      list.onchange = () => {
        this.#chosen.set(id, list.value);
        this.#redraw();
      };
      return element("div", { class: "control select" }, element("label", { for: `role-${id}` }, label), list);
    });
    const focused = document.activeElement?.id;
    this.roles.replaceChildren(...rows);
    if (focused?.startsWith("role-")) document.getElementById(focused)?.focus();
  }
}

async function compute(engine: Engine, call: AttentionCall | LayerCall): Promise<Result> {
  const returns = { output: true, probs: weightCount(call) <= LARGEST_WHOLE } as const;
  const { output, probs } =
    call.kind === "layer"
      ? await engine.forward(call.layer, call.x, { ...call.options, returns })
      : await engine.scaledDotProductAttention(call.query, call.key, call.value, { ...call.options, returns });
  const floats = { data: output.data as Float32Array, shape: output.shape };
  return probs ? { output: floats, probs } : { output: floats };
}

/** Heads × queries × keys. */
function weightCount(call: AttentionCall | LayerCall): number {
  if (call.kind === "layer") return call.layer.numHeads * call.x.shape[1]! ** 2;
  const { heads, queries, keys } = extents(call);
  return heads * queries * keys;
}

function extents({ query, key, options }: AttentionCall) {
  const { layout = "BHSD", numHeads = 1 } = options;
  const [q, k] = [query.shape, key.shape];
  if (layout === "BES") return { heads: numHeads, queries: q.at(-1)!, keys: k.at(-1)! };
  if (layout === "BSE" || q.length === 2) return { heads: numHeads, queries: q.at(-2)!, keys: k.at(-2)! };
  const [head, length] = layout === "BSHD" ? [-2, -3] : [-3, -2];
  return { heads: q.at(head)!, queries: q.at(length)!, keys: k.at(length)! };
}

function fill(map: AttentionMap, engine: Engine, call: AttentionCall | LayerCall, { probs }: Result): void {
  const { causal = false } = call.options;
  map.causal = causal !== false;
  if (probs) map.probs = probs;
  else if (call.kind === "attention") map.source = rowsOnDemand(engine, call);
}

/** Computes rows of weights when they are shown. */
function rowsOnDemand(engine: Engine, call: AttentionCall): NonNullable<AttentionMap["source"]> {
  const { heads, queries, keys } = extents(call);
  return {
    ...{ heads, queries, keys },
    async rows(head, from, to) {
      const rows = Array.from({ length: to - from }, (_, row) => from + row);
      const { probs } = await engine.scaledDotProductAttention(call.query, call.key, call.value, {
        ...call.options,
        returns: { output: false, probs: { heads: [head], queries: rows } },
      });
      return probs.data.subarray(0, rows.length * keys); // of the first batch
    },
  };
}

/**
 * A sample of the numbers, for their smallest and largest value. All of them would be too many arguments for one call.
 */
function sample({ data }: Floats): number[] {
  const step = Math.max(1, Math.floor(data.length / 10_000));
  return Array.from({ length: Math.ceil(data.length / step) }, (_, i) => data[i * step]!);
}

function save(name: string, { shape, data }: Floats): void {
  const link = element("a", { download: name, href: URL.createObjectURL(new Blob([writeNpy(shape, data)])) });
  link.click();
  URL.revokeObjectURL(link.href);
}
