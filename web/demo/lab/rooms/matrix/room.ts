import "./room.css";

import { difference } from "../../engine/difference.js";
import { cardName } from "../../embed/cards.js";
import { choices, panel, slider, toggle } from "../../shell/controls.js";
import { element, folded, withIndices } from "../../shell/element.js";
import { WANTED } from "../../shell/folds.js";
import { room as makeRoom, type RoomView } from "../../shell/room.js";
import { t } from "../../../texts/t.js";
import { calculate } from "./calculation.js";
import type { Form, Inputs, Steps } from "./steps.js";
import { defined } from "./definition.js";
import { Diagram } from "./diagram.js";
import { ask, HOURS } from "./dictionary.js";
import { DictionaryCard } from "./dictionaryCard.js";
import { FormsCard } from "./forms.js";
import { GrowthCard } from "./growthCard.js";
import { HeadsCard } from "./heads.js";
import { LINES } from "./lines.js";
import { LoopsCard } from "./loopsCard.js";
import { MixingCard } from "./mixingCard.js";
import { sceneOf, type Scene } from "./parts.js";
import { edited, fields, headOf, inputsOf, type Settings } from "./settings.js";
import { LETTERS, type Sizes } from "./sizes.js";
import { SourcePanel } from "./sourcePanel.js";
import { Stepper } from "./stepper.js";
import { snippet } from "./snippet.js";
import { scoreStatistics } from "./variance.js";
import { VarianceCard } from "./varianceCard.js";
import { biasWords, finding, maskWords, maximumWords, scaleWords, softmaxWords, symmetryWords } from "./words.js";

export const room = makeRoom(fields, open, {
  random: t`Random here: only the vectors of “Why 1/√D”. They are the same every time.`,
});

function open(view: RoomView<typeof fields>): void {
  const { state, stage } = view;
  const diagram = new Diagram({
    onEdit: (name, edits) => state.set(edited(state.values, name, edits)),
    onHead: (head) => state.set({ head: head + 1 }),
  });
  const [forms, heads, variance] = [new FormsCard(), new HeadsCard(), new VarianceCard(state)];
  const [growth, dictionary, loops] = [new GrowthCard(state), new DictionaryCard(state), new LoopsCard(state)];
  const [mixing, source] = [new MixingCard(state), new SourcePanel(state)];
  const said = element("ul", { class: "said" });
  const cards = [folded(t`What these numbers say`, said), ...[heads, variance, growth, dictionary, loops, mixing].map(({ node }) => node)]; // oxfmt-ignore
  const stops = [forms.node, ...cards].map((node) => ({ name: cardName(node), nodes: [node] }));
  const stepper = new Stepper([...diagram.stopsWith(source.node), ...stops], (stop) => state.set({ stop }));
  stage.append(
    controls(view),
    source.node,
    stepper.node,
    diagram.node,
    forms.node,
    element("div", { class: "cards" }, ...cards),
  );
  const follow = () => stepper.show(state.values.stop);
  state.onChange(follow);
  follow();
  stage.addEventListener(WANTED, ({ target }) => stepper.leadTo(target as Node));

  view.onDraw(async (settings) => {
    const inputs = inputsOf(settings);
    const both = await bothForms(view, inputs);
    const scene = sceneOf(inputs, both[settings.form], headOf(settings), settings.form, settings.reading);
    source.show(settings, inputs);
    diagram.show(scene, true);
    forms.show(scene, both);
    heads.show(scene);
    said.replaceChildren(...sentences(scene, settings).map((words) => element("li", {}, ...withIndices(words))));
    view.finding(finding(scene));
    growth.show(inputs.sizes, settings.station);
    loops.show(settings.length);
    mixing.show(scene, settings.oneQuery);
    const sharpness = HOURS.sharpness[settings.sharpness]!;
    dictionary.show(settings.hour, sharpness, await ask(view.engine, settings.hour, sharpness));
    variance.show(settings.dim, await scoreStatistics(view.engine, settings.dim));
  });
  view.onCode((settings) => snippet(inputsOf(settings), settings.form));
  view.onCheck(async (settings) => {
    const inputs = inputsOf(settings);
    return differences(await bothForms(view, inputs), defined(inputs));
  });
}

async function bothForms({ engine }: RoomView<typeof fields>, inputs: Inputs): Promise<Record<Form, Steps>> {
  return { rows: await calculate(engine, inputs, "rows"), columns: await calculate(engine, inputs, "columns") };
}

/** How far all numbers of all heads, in both forms, are from the definition. */
function differences({ rows, columns }: Record<Form, Steps>, exact: Steps) {
  const compare = (what: string, numbers: (steps: Steps) => readonly number[]) =>
    difference(what, [...numbers(rows), ...numbers(columns)], [...numbers(exact), ...numbers(exact)]);
  return [
    compare(t`scores`, ({ heads }) => heads.flatMap(({ raw, masked }) => [...raw.data, ...masked.data])),
    compare(t`weights`, ({ heads }) => heads.flatMap(({ weights }) => weights.data)),
    compare("Y", ({ y }) => y.data),
    compare(t`output`, ({ out }) => out.data),
  ];
}

/** The sentences on what is shown. */
export function sentences(scene: Scene, { sameKeys, bias }: Settings): readonly string[] {
  return [
    softmaxWords(scene),
    ...maximumWords(scene),
    symmetryWords(scene, sameKeys),
    scaleWords(scene),
    maskWords(scene),
    biasWords(scene, bias),
  ];
}

function controls({ state }: RoomView<typeof fields>): HTMLElement {
  const sizes = (Object.keys(LETTERS) as (keyof Sizes)[]).map((name) => slider(state, name, LETTERS[name]));
  const group = panel(
    ...sizes,
    choices(state, "form", t`Positions are`, LINES),
    choices(state, "reading", t`Read a product as`, { similarities: t`similarities`, mixtures: t`mixtures` }),
    toggle(state, "scale", t`Scale 1/√D`),
    toggle(state, "softmax", t`Softmax`),
    toggle(state, "causal", t`Causal`),
    toggle(state, "excludeSelf", t`No token sees itself`),
    toggle(state, "bias", t`Biases`),
    toggle(state, "sameKeys", t`Equal projections`),
  );
  group.classList.add("matrix-controls");
  return group;
}
