/** Fields of config.json that change nothing of what a model computes, and why. */
const IGNORED = [
  // names and notes; transformers writes its own with an underscore in front
  /^_/,
  /^(name|name_or_path|model_name|base_model|author|created_date|license|language|pipeline_tag)$/,
  /^(transformers_version|unsloth_\w+)$/,
  /^(transformers\.js_config|tokenizer_class|tokenizer_name|matryoshka_dimensions|xla_device)$/,
  // tasks: they name what comes out of a head, or what a program should ask for
  /^(finetuning_task|task_specific_params|problem_type|id2label|label2id|num_labels|prefix)$/,
  /^(summary_\w+|n_special|predict_special_tokens|custom_pipelines?)$/,
  /^(sentence_transformers|sbert_ce_default_activation_function)$/,
  // training
  /dropout|_pdrop$/,
  /^(layerdrop|init_std|initializer_cutoff_factor|sparse_prediction|sparse_pred_ignore_index)$/,
  /^(initializer_range|initializer_factor|gradient_checkpointing|use_gradient_checkpointing)$/,
  // how another program computes the same numbers
  /^(torch_dtype|dtype|use_bfloat16|torchscript|tf_legacy_loss|use_cache|chunk_size_feed_forward|pretraining_tp)$/,
  /^(attn_implementation|use_sdpa|use_flash_attn\w*|use_flash_attention\w*|reorder_and_upcast_attn)$/,
  /^(reference_compile|deterministic_flash_attn|repad_logits_with_grad)$/,
  /^(output_(past|attentions|hidden_states|scores)|return_dict|return_dict_in_generate)$/,
  // tokens, and lengths for the tokenizer
  /_token(_ids?)?$/,
  /^(n_ctx|model_max_length|max_sequence_length|max_seq_len|max_seq_length)$/,
  // generation, which `model.generate` has options for
  /^((min|max)_length|(min|max)_new_tokens|do_sample|early_stopping|num_beams|num_beam_groups|num_return_sequences)$/,
  /^(temperature|top_k|top_p|min_p|typical_p|\w+_penalty|(encoder_)?no_repeat_ngram_size|bad_words_ids)$/,
  /^((begin_)?suppress_tokens|remove_invalid_values|cache_implementation)$/,
  // parts of other models, which BERT, GPT-2 and Llama do not have
  /^(is_decoder|tie_encoder_decoder|cross_attention_hidden_size|directionality|pooler_\w+)$/,
  // notes of converters
  /^(is_llama_config|finetuned)$/,
];

/** Whether a field, such as `use_cache` or `rope_scaling.finetuned`, changes nothing of what a model computes. */
export function isIgnored(field: string): boolean {
  const name = field.slice(field.lastIndexOf(".", field.length - 2) + 1);
  return IGNORED.some((pattern) => pattern.test(field) || pattern.test(name));
}
