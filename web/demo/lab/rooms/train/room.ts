import "./room.css";

import { panel, select, slider, toggle } from "../../shell/controls.js";
import { decimal } from "../../shell/numbers.js";
import { room as makeRoom, type RoomView } from "../../shell/room.js";
import { Board } from "./board.js";
import { fields } from "./settings.js";
import { snippet } from "./snippet.js";
import { t } from "../../../texts/t.js";

export const room = makeRoom(fields, open, {
  random: t`The first weights and all sequences are random numbers. The same seed gives the same ones, and the same training.`,
});

function open(view: RoomView<typeof fields>): void {
  const { state, stage } = view;
  const board = new Board(view);
  const settings = panel(
    select(state, "position", t`Positions`, { rotary: t`rotary`, learned: t`learned, added`, none: t`none` }),
    select(state, "heads", t`Heads`),
    select(state, "width", t`Width`),
    slider(state, "spread", t`First weights`, (value) => `± ${decimal(value)}`),
    slider(state, "rate", t`Learning rate`, (value) => decimal(value / 1000, 4)),
    slider(state, "seed", t`Seed`),
    toggle(state, "control", t`One layer beside it`),
  );
  const [figure, ...rest] = board.cards;
  stage.append(board.controls, figure!, settings, ...rest);
  view.onDraw((values) => board.show(values));
  view.onCode(snippet);
  view.onCheck(() => board.check());
  view.onFilm(() => board.film());
  view.onClose(() => board.close());
}
