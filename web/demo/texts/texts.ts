/** English texts, with {0}, {1} … for their values, and what another language says for each. */
export type Texts = Readonly<Record<string, string>>;
