// What the bench prints for times.

import { digits, percent, table } from "../columns.mjs";

const { header, line } = table(
  [
    ["case", 34, ({ case: name }) => name],
    ["ms", 9, ({ milliseconds }) => digits(milliseconds)],
    ["±", 5, ({ spread }) => percent(spread)],
  ],
  0,
);

export const timeHeader = header([]);
export const timeLine = (record) => line(record, []);
