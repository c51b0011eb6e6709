// Puts a measured part into a page that people write, between two lines that stay.

/**
 * @param {string} text - of the page
 * @param {{ file: string, begin: string, end: string }} marks - the page's file, for the error, and the two lines
 * @param {string} part - what comes between them
 */
export function withPart(text, { file, begin, end }, part) {
  const [from, to] = [text.indexOf(begin), text.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`${file}: must contain "${begin}" and "${end}"`);
  return `${text.slice(0, from)}${begin}\n\n${part}\n${text.slice(to)}`;
}
