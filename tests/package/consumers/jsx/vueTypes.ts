import type { GlobalComponents } from "vue";

import type {} from "./vue.js";

type Props = InstanceType<GlobalComponents["attention-heads"]>["$props"];
export const props: Props = { threshold: 0.1, enabled: [0] };

// @ts-expect-error: a property of the other element
export const wrong: Props = { kind: "scores" };
