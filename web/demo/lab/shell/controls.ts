import { element } from "./element.js";
import type { ChoiceField, Field, Fields, KeyOf, NumberField, Values } from "./field.js";
import { plain } from "./numbers.js";
import type { State } from "./state.js";

let lastId = 0;
const newId = () => `control-${++lastId}`;

/** Puts a value from a control into the state. */
function put<F extends Fields>(state: State<F>, name: string, value: unknown): void {
  state.set({ [name]: value } as Partial<Values<F>>);
}

/** Shows the state in a control, now and after every change. */
function follow<F extends Fields>(state: State<F>, show: (values: Values<F>) => void): void {
  show(state.values);
  state.onChange(() => show(state.values));
}

/** Ties a text to the state. The field shows no more of it than the address of the room is read with. */
function followText<F extends Fields>(
  state: State<F>,
  name: KeyOf<F, Field<string>>,
  input: HTMLInputElement | HTMLTextAreaElement,
  typed: () => string,
): void {
  const show = (values: Values<F>) => {
    if (typed() !== values[name]) input.value = values[name] as string;
  };
  input.oninput = () => {
    put(state, name, state.fields[name]!.parse(typed()));
    show(state.values);
  };
  follow(state, show);
}

/** A slider for a number, with its value beside it. */
export function slider<F extends Fields, K extends KeyOf<F, NumberField>>(
  state: State<F>,
  name: K,
  label: string,
  shown: (value: number) => string = plain,
): HTMLElement {
  const { min, max, step } = state.fields[name] as unknown as NumberField;
  const id = newId();
  const range = { id, type: "range", min: String(min), max: String(max), step: String(step), "data-field": name };
  const input = element("input", range);
  const output = element("output", { for: id });
  input.oninput = () => put(state, name, input.valueAsNumber);
  follow(state, (values) => {
    const value = values[name] as number;
    input.value = String(value);
    output.textContent = shown(value);
    input.setAttribute("aria-valuetext", shown(value));
  });
  return element("div", { class: "control slider" }, element("label", { for: id }, label), output, input);
}

/** A switch for a boolean. */
export function toggle<F extends Fields, K extends KeyOf<F, Field<boolean>>>(
  state: State<F>,
  name: K,
  label: string,
): HTMLElement {
  const input = element("input", { type: "checkbox", "data-field": name });
  input.onchange = () => put(state, name, input.checked);
  follow(state, (values) => (input.checked = values[name] as boolean));
  return element("label", { class: "control toggle" }, input, label);
}

/** A choice of few values, all visible. */
export function choices<F extends Fields, K extends KeyOf<F, ChoiceField>>(
  state: State<F>,
  name: K,
  legend: string,
  names: Readonly<Record<string, string>> = {},
): HTMLElement {
  const group = newId();
  const inputs = (state.fields[name] as unknown as ChoiceField).options.map((value) => {
    const input = element("input", { type: "radio", name: group, value, "data-field": name });
    input.onchange = () => put(state, name, value);
    return input;
  });
  follow(state, (values) => inputs.forEach((input) => (input.checked = input.value === values[name])));
  return element(
    "fieldset",
    { class: "control choices" },
    element("legend", {}, legend),
    element("div", {}, ...inputs.map((input) => element("label", {}, input, names[input.value] ?? input.value))),
  );
}

/** A choice of many values, in a list. */
export function select<F extends Fields, K extends KeyOf<F, ChoiceField>>(
  state: State<F>,
  name: K,
  label: string,
  names: Readonly<Record<string, string>> = {},
): HTMLElement {
  const id = newId();
  const { options } = state.fields[name] as unknown as ChoiceField;
  const list = element(
    "select",
    { id, "data-field": name },
    ...options.map((value) => element("option", { value }, names[value] ?? value)),
  );
  list.onchange = () => put(state, name, list.value);
  follow(state, (values) => (list.value = values[name] as string));
  return element("div", { class: "control select" }, element("label", { for: id }, label), list);
}

/** A field for lines of text. */
export function lines<F extends Fields, K extends KeyOf<F, Field<string>>>(
  state: State<F>,
  name: K,
  label: string,
  rows = 2,
): HTMLElement {
  const id = newId();
  const attributes = { id, rows: String(rows), spellcheck: "false", autocomplete: "off", "data-field": name };
  const area = element("textarea", attributes);
  followText(state, name, area, () => area.value);
  return element("div", { class: "control lines" }, element("label", { for: id }, label), area);
}

/** A field for a word. `suggested` is the id of a list of words. */
export function entry<F extends Fields, K extends KeyOf<F, Field<string>>>(
  state: State<F>,
  name: K,
  label: string,
  suggested: string,
): HTMLElement {
  const id = newId();
  const attributes = {
    id,
    type: "text",
    list: suggested,
    spellcheck: "false",
    autocomplete: "off",
    "data-field": name,
  };
  const input = element("input", attributes);
  followText(state, name, input, () => input.value.trim());
  return element("div", { class: "control entry" }, element("label", { for: id }, label), input);
}

/** A group of controls. */
export function panel(...controls: HTMLElement[]): HTMLElement {
  return element("div", { class: "panel" }, ...controls);
}

/** A button. `kind` is a CSS class. While it is idle, a press does nothing. */
export function button(label: string, action: () => void, kind = ""): HTMLButtonElement {
  const node = element("button", { type: "button", ...(kind && { class: kind }) }, label);
  node.onclick = () => node.ariaDisabled !== "true" && action();
  return node;
}

/** Makes a button do nothing for now. It keeps the focus, which a browser takes from a button that is disabled. */
export function setIdle(node: HTMLButtonElement, isIdle: boolean): void {
  node.ariaDisabled = String(isIdle);
}
