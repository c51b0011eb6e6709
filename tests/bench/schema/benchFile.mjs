// A file of the format headwise-bench, which headwise-bench.json describes, while it is put together.

/** Characters that the schema refuses: they have no place in a name. */
// oxlint-disable-next-line no-control-regex -- these are what is to be replaced
const UNPRINTABLE = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]+/g;
const LONGEST = { name: 200, text: 2000 };

const clean = (text, longest) => text.replace(UNPRINTABLE, " ").trim().slice(0, longest);
export const asName = (text) => clean(text, LONGEST.name);
export const asText = (text) => clean(text, LONGEST.text);

export class BenchFile {
  #head;
  #lists = { devices: new Map(), engines: new Map(), shapes: new Map() };
  #measurements = [];
  #missing = [];

  /** @param {{ date: string, command: string, note?: string, headwise: { version: string, commit?: string } }} head */
  constructor({ date, command, note, headwise }) {
    const { version, commit } = headwise;
    this.#head = {
      ...{ format: "headwise-bench", version: 1, date, command: asText(command) },
      ...(note && { note: asText(note) }),
      headwise: { version, ...(commit && { commit }) },
      unit: "ms",
    };
  }

  /** The `add` functions return the id. What has been added before is not added again. */
  addDevice(device) {
    return this.#add("devices", device);
  }

  addEngine({ library, version, backend, variant, threads }) {
    const parts = [library, version, backend, variant, threads && `${threads} ${threads === 1 ? "thread" : "threads"}`];
    const id = asName(parts.filter(Boolean).join(" "));
    const rest = { ...(variant && { variant: asName(variant) }), ...(threads && { threads }) };
    return this.#add("engines", { id, library, version, backend, ...rest });
  }

  addShape({ id, group, operations, bytes }) {
    return this.#add("shapes", { id: asName(id), group: asName(group), operations, bytes });
  }

  /** @param {{ device: string, engine: string, shape: string }} place */
  measured(place, { samples, roofline, form }) {
    this.#measurements.push({ ...place, ...(form && { form: asName(form) }), samples, roofline });
  }

  missing(place, reason) {
    this.#missing.push({ ...place, reason: asText(reason) });
  }

  /** Says why for every shape × engine × device that is neither measured nor missing. */
  fill(reason) {
    const { devices, engines, shapes } = this.#lists;
    const known = new Set([...this.#measurements, ...this.#missing].map(keyOf));
    for (const device of devices.keys())
      for (const engine of engines.keys())
        for (const shape of shapes.keys()) {
          const place = { device, engine, shape };
          if (!known.has(keyOf(place))) this.missing(place, reason);
        }
  }

  /** @throws if nothing was measured */
  document() {
    if (this.#measurements.length === 0) throw new Error("--json: nothing was measured, so there is no file");
    const lists = Object.entries(this.#lists).map(([name, entries]) => [name, [...entries.values()]]);
    return { ...this.#head, ...Object.fromEntries(lists), measurements: this.#measurements, missing: this.#missing };
  }

  #add(list, entry) {
    if (!this.#lists[list].has(entry.id)) this.#lists[list].set(entry.id, entry);
    return entry.id;
  }
}

const keyOf = ({ device, engine, shape }) => JSON.stringify([device, engine, shape]);
