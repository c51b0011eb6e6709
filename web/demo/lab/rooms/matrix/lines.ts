import { t } from "../../../texts/t.js";
import type { Form } from "./steps.js";

/** What has the numbers of one position: a row or a column. */
export const LINE: Readonly<Record<Form, string>> = { rows: t`row`, columns: t`column` };
export const LINES: Readonly<Record<Form, string>> = { rows: t`rows`, columns: t`columns` };

/** What has one number of each position. */
export const ACROSS: Readonly<Record<Form, string>> = { rows: LINE.columns, columns: LINE.rows };
export const ALL_ACROSS: Readonly<Record<Form, string>> = { rows: LINES.columns, columns: LINES.rows };
