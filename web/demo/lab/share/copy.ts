import { toClipboard } from "../shell/clipboard.js";
import { t } from "../../texts/t.js";

/** Copies the text of a field, and says whether that was possible. */
export function copy(field: HTMLInputElement | HTMLTextAreaElement, say: (words: string) => void): void {
  field.select();
  toClipboard(field.value).then(
    () => say(t`Copied.`),
    () => say(t`This browser does not let the page copy. The text is selected: copy it with the keyboard.`),
  );
}
