import { button } from "../../shell/controls.js";
import { dropZone } from "../../shell/dropZone.js";
import { element, setHidden } from "../../shell/element.js";
import { EXAMPLE } from "./example.js";
import { openFiles } from "./files/open.js";
import type { FileEntry } from "./files/safetensors.js";
import { RANDOM_TOKENS } from "./problem.js";
import { assign, type Role } from "./roles.js";
import { t } from "../../../texts/t.js";

/** The dropped tensors and their roles. */
export class Shelf {
  readonly node: HTMLElement;
  readonly roles = element("div", { class: "roles" });
  readonly #redraw: () => void;
  readonly #about = element("p", { class: "hint" });
  readonly #list = element("ul", { class: "tensors", tabindex: "0", "aria-label": t`Tensors` });
  readonly #trouble = element("div", { class: "failure", role: "alert" });
  readonly #example = button(t`Show the example`, () => this.#put(EXAMPLE));
  readonly #chosen = new Map<string, string>();
  #entries: readonly FileEntry[] = EXAMPLE;

  /** @param take - Gets the files that are given here. */
  constructor(redraw: () => void, take: (files: readonly File[]) => void) {
    this.#redraw = redraw;
    const zone = dropZone(
      t`Drop .npy or .safetensors here, or the folder of a model, or choose files`,
      t`They are read in this page and are not sent anywhere.`,
      [{ id: "files", label: t`Choose files`, attributes: { multiple: "", accept: ".npy,.safetensors,.json" } }],
      take,
    );
    this.node = element("div", { class: "shelf" }, zone, this.#trouble, this.#about, this.#list, this.#example);
    this.#showList();
    this.#showTrouble([]);
  }

  get isExample(): boolean {
    return this.#entries === EXAMPLE;
  }

  /** How many tensors there are. */
  get count(): number {
    return this.#entries.length;
  }

  /** Finds the tensor of each role, and shows the roles. */
  assign(roles: readonly Role[]): Map<string, FileEntry> {
    const assigned = assign(roles, this.#entries, this.#chosen);
    this.#showRoles(roles, assigned);
    return assigned;
  }

  /** Adds the tensors of files. A new tensor replaces one of the same name, and any tensor replaces the example. */
  async take(files: readonly File[]): Promise<void> {
    const { entries, failures } = await openFiles(files);
    this.#showTrouble(failures);
    if (entries.length === 0 && !this.isExample) return;
    const own = this.isExample ? [] : this.#entries;
    const named = new Map([...own, ...entries].map((entry) => [entry.name, entry]));
    this.#put([...named.values()]);
  }

  #put(entries: readonly FileEntry[]): void {
    this.#entries = entries;
    this.#chosen.clear();
    if (this.isExample) this.#showTrouble([]);
    this.#showList();
    this.#redraw();
  }

  #showTrouble(failures: readonly string[]): void {
    this.#trouble.replaceChildren(...failures.map((words) => element("p", {}, words)));
    this.#trouble.hidden = failures.length === 0;
  }

  #showList(): void {
    this.#about.textContent = this.isExample ? t`Until then, an example of random numbers:` : t`Read from your files:`;
    this.#about.hidden = this.#list.hidden = this.count === 0;
    setHidden(this.#example, this.isExample, this.#list);
    const items = this.#entries.map(({ name, shape, stored }) =>
      element("li", {}, element("code", { translate: "no" }, name), ` ${stored} [${shape.join(", ")}]`),
    );
    this.#list.replaceChildren(...items);
  }

  #showRoles(roles: readonly Role[], assigned: ReadonlyMap<string, FileEntry>): void {
    const named = (value: string, text = value) => element("option", { value }, text);
    const none = ({ id, optional }: Role) =>
      id === "x" ? t`${RANDOM_TOKENS} random tokens` : optional ? t`none` : t`choose`;
    const rows = roles.map((role) => {
      const { id, label } = role;
      const list = element(
        "select",
        { id: `role-${id}` },
        named("", none(role)),
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
