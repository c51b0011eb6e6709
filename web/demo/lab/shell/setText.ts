/** Sets the text of an element. The same text again costs no new layout. */
export function setText(node: Element, words: string): void {
  if (node.textContent !== words) node.textContent = words;
}
