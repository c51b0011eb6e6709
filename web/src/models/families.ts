import { BERT } from "./families/bert.js";
import { DISTILBERT } from "./families/distilbert.js";
import { GEMMA } from "./families/gemma.js";
import { GEMMA2 } from "./families/gemma2.js";
import { GEMMA3 } from "./families/gemma3.js";
import { GPT2 } from "./families/gpt2.js";
import { GPT_NEO } from "./families/gptNeo.js";
import { GPT_NEOX } from "./families/gptNeoX.js";
import { LLAMA } from "./families/llama.js";
import { MISTRAL } from "./families/mistral.js";
import { MODERNBERT } from "./families/modernBert.js";
import { MPNET } from "./families/mpnet.js";
import { OPT } from "./families/opt.js";
import { PHI3 } from "./families/phi3.js";
import { QWEN2, QWEN3 } from "./families/qwen.js";
import { ROBERTA, XLM_ROBERTA } from "./families/roberta.js";
import type { Family } from "./family.js";
import type { ModelType } from "./modelConfig.js";

/** The families that `loadModel` reads, by `model_type` of config.json. */
export const FAMILIES: Readonly<Record<ModelType, Family>> = {
  bert: BERT,
  gpt2: GPT2,
  llama: LLAMA,
  mistral: MISTRAL,
  qwen2: QWEN2,
  qwen3: QWEN3,
  phi3: PHI3,
  roberta: ROBERTA,
  "xlm-roberta": XLM_ROBERTA,
  distilbert: DISTILBERT,
  mpnet: MPNET,
  gpt_neox: GPT_NEOX,
  gpt_neo: GPT_NEO,
  gemma: GEMMA,
  gemma2: GEMMA2,
  gemma3_text: GEMMA3,
  opt: OPT,
  modernbert: MODERNBERT,
};
