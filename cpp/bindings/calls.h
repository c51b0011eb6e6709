#pragma once

// The calls that JavaScript can make, each a C++ struct that it fills. Every `run` runs one.

#include <cstdint>

#include "headwise/attention.h"
#include "headwise/backward.h"
#include "headwise/formula.h"
#include "headwise/kv_cache.h"
#include "headwise/layer.h"
#include "headwise/linear.h"
#include "headwise/position.h"
#include "headwise/status.h"
#include "headwise/thread_pool.h"

namespace headwise {

struct AttentionCall {
  AttentionShape shape;
  AttentionInputs inputs;
  AttentionOptions options;
  AttentionOutputs outputs;
  AttendInside inside;       ///< of a call to a cache
  KvCache* grows = nullptr;  ///< a cache that gains inputs.key and inputs.value, in options.kv_layout, before the call
  std::int64_t num_tokens = 0;
  const std::int32_t* append_lengths = nullptr;
  Formula score, visible;  ///< options.score and options.visible point here, if there are any
};
[[nodiscard]] Status run(ThreadPool& pool, const AttentionCall& call);

/// A call of gradients. The base holds what the forward call read; its outputs are not used.
struct BackwardCall : AttentionCall {
  ConstArray output;
  const float* lse = nullptr;
  ConstArray output_gradient;
  const float* lse_gradient = nullptr;
  ScoreDerivative derivative;  ///< of `score`, if there is one
  BackwardOutputs gradients;
};
[[nodiscard]] Status run(ThreadPool& pool, const BackwardCall& call);

struct MergeCall {
  AttentionShape shape;
  Layout layout = Layout::bhsd;
  const AttentionPart* parts = nullptr;
  std::int64_t num_parts = 0;
  const float* sinks = nullptr;
  MutableArray output;
  float* lse = nullptr;
};
[[nodiscard]] Status run(ThreadPool& pool, const MergeCall& call);

struct RotaryCall {
  Layout layout = Layout::bhsd;
  std::int64_t batch_size = 1, num_heads = 1, length = 0, head_dim = 1;
  RotaryOptions options;
  ConstArray x;
  const double* positions = nullptr;  ///< [B, S]; null if tables are given:
  const float *cosines = nullptr, *sines = nullptr;
  std::int64_t table_rows = 0;
  const std::int32_t* rows = nullptr;
  MutableArray y;
};
[[nodiscard]] Status run(ThreadPool& pool, const RotaryCall& call);

enum class CacheOperation : std::int32_t {
  create = 0,
  append = 1,
  rewind = 2,
  fork = 3,
  slice = 4,
  save = 5,
  load = 6,
  select = 7,
  keep = 8
};

/// One operation on a cache. An operation reads only the fields that name it.
struct CacheCall {
  CacheOperation operation = CacheOperation::create;
  KvCache* cache = nullptr;           ///< all operations but create and load
  mutable KvCache* result = nullptr;  ///< create, fork, slice, load: JavaScript owns it until releaseCache
  KvCacheShape shape;                 ///< create
  bool sections = false;              ///< describe: whether it turns by sections
  bool turns = false;                 ///< create: whether the cache has the rotary embedding below
  RotaryOptions rotary;
  Layout layout = Layout::bhsd;  ///< append
  std::int64_t num_tokens = 0;
  ConstArray key, value;
  const std::int32_t* lengths = nullptr;    ///< append, rewind: [B]
  const std::int32_t* positions = nullptr;  ///< append: [planes, B, S]
  std::int64_t position_planes = 1;
  const std::int32_t* indices = nullptr;  ///< select: [B]
  KeptTokens kept;                        ///< keep
  std::int64_t from = 0, to = 0;          ///< slice
  std::uint8_t* bytes = nullptr;          ///< save, load
  std::int64_t size = 0;
};
[[nodiscard]] Status run(ThreadPool& pool, const CacheCall& call);

struct LayerCreation {
  LayerShape shape;
  LayerWeights weights;
  LayerOptions options;
  mutable Layer* result = nullptr;  ///< JavaScript owns it until releaseLayer
};
[[nodiscard]] Status run(ThreadPool& pool, const LayerCreation& call);

/// A forward call of a layer. The base holds mask, bias, options and outputs of its attention.
struct LayerCall : AttentionCall {
  const Layer* layer = nullptr;
  LayerInputs layer_inputs;
  LayerViews views;
  bool saves = false;
  mutable SavedForward* saved = nullptr;  ///< JavaScript owns it until releaseSaved
};
[[nodiscard]] Status run(ThreadPool& pool, const LayerCall& call);

struct LayerBackwardCall {
  const Layer* layer = nullptr;
  const SavedForward* saved = nullptr;
  ConstArray output_gradient;
  const float* lse_gradient = nullptr;
  ScoreDerivative derivative;  ///< without instructions if the call had no score formula
  LayerGradients gradients;
};
[[nodiscard]] Status run(ThreadPool& pool, const LayerBackwardCall& call);

struct LayerUpdateCall {
  Layer* layer = nullptr;
  LayerUpdate update;
};
[[nodiscard]] Status run(ThreadPool& pool, const LayerUpdateCall& call);

struct LinearCall {
  LinearShape shape;
  ConstArray x;
  LinearWeights weights;
  bool in_panels = false;  ///< whether the weight is in panels: see PanelWeights
  MutableArray y;
};
[[nodiscard]] Status run(ThreadPool& pool, const LinearCall& call);

struct LinearBackwardCall {
  LinearShape shape;
  ConstArray x;
  LinearWeights weights;
  ConstArray output_gradient;
  LinearGradients gradients;
};
[[nodiscard]] Status run(ThreadPool& pool, const LinearBackwardCall& call);

}  // namespace headwise
