import { vocabularyOf, type DecoderConfig } from "../../../generate/decoderFile.js";
import type { Written } from "../../engine/generateProtocol.js";
import type { Look, OwnPronoun, PronounFinding, PronounStudy } from "../../engine/pronounProtocol.js";
import { button, setIdle } from "../../shell/controls.js";
import { element, folded, setText } from "../../shell/element.js";
import { lookWords, ownWords, pronounTitle, pronounWords } from "./pronounWords.js";
import { t } from "../../../texts/t.js";

/** Which head finds whom "he" means, and what "it" means; with controls, and in the visitor's text. */
export class PronounsCard {
  readonly node: HTMLElement;
  readonly #ask: HTMLButtonElement;
  readonly #status = element("p", { class: "finding", role: "status" });
  readonly #findings = element("div", { class: "pronouns" });
  readonly #ownTitle = element("h3", {}, t`In the text above`);
  readonly #own = element("ul", { class: "jobs own-pronouns" });
  #study: PronounStudy | undefined;

  constructor(onAsk: () => void) {
    this.#ask = button(t`Ask all heads`, () => {
      setIdle(this.#ask, true);
      setText(this.#status, t`Reading stories …`);
      onAsk();
    });
    const words = t`The grammar knows whom “he” means, and what “it” means. Which head looks there? The weights are those of the word before the pronoun, when the model chooses it, with all heads on. Then the story is changed, and the head is switched off.`;
    this.#ownTitle.hidden = true;
    this.node = folded(
      t`Whom “he” means, and what “it” means`,
      element("p", { class: "hint" }, words),
      this.#ask,
      this.#status,
      this.#findings,
      this.#ownTitle,
      this.#own,
    );
  }

  /** Hides the card where no grammar knows what a pronoun means. What was found in an older text goes. */
  show({ words, figures }: DecoderConfig, { tokens }: Written): void {
    this.node.hidden = !words || !figures.stories;
    const study = this.#study;
    if (!study || this.#own.hidden || isSame(study.tokens, tokens)) return;
    this.#own.hidden = true;
    this.#ownTitle.hidden = true;
    setText(this.#status, t`The text above has changed: ask again to see its pronouns.`);
  }

  /** Without a study, something else was asked for meanwhile. */
  answer(config: DecoderConfig, study: PronounStudy | undefined): void {
    setIdle(this.#ask, false);
    setText(this.#status, study ? "" : t`The stories were not read to their end. Ask again.`);
    if (!study) return;
    this.#study = study;
    this.#findings.replaceChildren(...study.findings.map((finding) => findingNode(config, finding)));
    this.#own.hidden = this.#ownTitle.hidden = false;
    this.#own.replaceChildren(...ownNodes(study));
  }

  clear(): void {
    this.#study = undefined;
    setIdle(this.#ask, false);
    setText(this.#status, "");
    this.#findings.replaceChildren();
    this.#own.replaceChildren();
    this.#ownTitle.hidden = true;
  }
}

function findingNode(config: DecoderConfig, finding: PronounFinding): HTMLElement {
  const { kind, looks } = finding;
  const title = pronounTitle(finding);
  const other = kind === "person" ? t`With another person` : t`With another thing`;
  return element(
    "section",
    { "aria-label": title, "data-pronoun": kind },
    element("h3", {}, title),
    ...(looks
      ? [
          element("p", { class: "hint" }, t`A short place that shows it well:`),
          ...lookNodes(config, looks[0], t`As it is told`),
          ...lookNodes(config, looks[1], other),
        ]
      : []),
    ...pronounWords(finding).map((words) => element("p", {}, words)),
  );
}

/** The story up to the pronoun, darker where the head looks. */
function lookNodes(config: DecoderConfig, look: Look, told: string): readonly HTMLElement[] {
  const { tokens, weights } = look;
  const most = weights.indexOf(Math.max(...weights));
  const letters = vocabularyOf(config)
    .pieces(tokens)
    .map((piece, at) => {
      const span = element("span", at === most ? { class: "most" } : {}, piece);
      span.style.setProperty("--look", `${(100 * Math.sqrt(weights[at]!)).toFixed(0)}%`);
      return span;
    });
  return [
    element("p", { class: "looked-text", translate: "no" }, ...letters, " …"),
    element("p", { class: "hint" }, lookWords(told, look)),
  ];
}

function ownNodes({ findings, own }: PronounStudy): readonly HTMLElement[] {
  const findingOf = ({ kind }: OwnPronoun) => findings.find((finding) => finding.kind === kind)!;
  if (own.length > 0) return own.map((each) => element("li", {}, ownWords(each, findingOf(each))));
  return [element("li", {}, t`No sentence that is true in its story has one of these pronouns yet.`)];
}

function isSame(a: Int32Array, b: Int32Array): boolean {
  return a.length === b.length && a.every((token, at) => token === b[at]);
}
