import "./room.css";

import { room as makeRoom, type RoomView } from "../../shell/room.js";
import { Desk } from "./desk.js";
import { fields } from "./settings.js";
import { snippet } from "./snippet.js";
import { t } from "../../../texts/t.js";

export const room = makeRoom(fields, open, {
  random: t`Which of the likely tokens is taken is random. The same seed writes the same text.`,
});

function open(view: RoomView<typeof fields>): void {
  const desk = new Desk(view);
  view.stage.append(...desk.nodes);
  view.onDraw((settings) => desk.show(settings));
  view.onCode(snippet);
  view.onCheck(() => desk.check());
  view.onClose(() => desk.close());
}
