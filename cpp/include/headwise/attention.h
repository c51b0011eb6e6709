#pragma once

#include <cstdint>
#include <optional>

#include "headwise/array.h"
#include "headwise/formula.h"
#include "headwise/status.h"

/// Multi-head attention: the contract.
///
/// For batch b, query head h, query row i and key row j, with G = num_heads / num_kv_heads and kv head g = floor(h /
/// G). Query i stands at position i + offset_b. Key j stands at position pi_bj. pi_bj is j, except in a cache that has
/// dropped keys.
///
///     s = scale * q_bhi . k_bgj                      "raw"        scale defaults to 1/sqrt(head_dim)
///     s = softcap * tanh(s / softcap)                "softcapped" if softcap > 0
///     s = s - alibi_slopes_h * |i + offset_b - pi_bj|             or the distance of given positions
///     s = s + bias_bhij                              "biased"     -inf where hidden
///     s = score(s, ...)                              "formula"    -inf where hidden
///     visible = mask_bhij and bias_bhij != -inf and j < key_length_b and i < query_length_b
///               and causal and window and (not exclude_self or pi_bj != i + offset_b)
///               and visible(...) and s != -inf where a score formula is given
///     p_ij    = exp(s_ij) / (sum_visible exp(s_il) + exp(sink_h))            0 where hidden
///     w_ij    = p_ij / (1 - rate), or 0 if dropped                           p_ij without dropout
///     o_bhi   = head_gain_h * sum_visible w_ij v_bgj
///     lse_bhi = ln(sum_visible exp(s_il) + exp(sink_h))                      natural logarithm
///     entropy_bhi = -sum_visible p ln p                                      nats; 0 ln 0 = 0; no share of the sink
///
/// A hidden key contributes exactly nothing: NaN or Inf in its key, value or bias changes no bit of any output. A
/// visible NaN poisons its own row only; a dropped key is visible. So does a score above the largest float; one below
/// the least has no weight. A scale of any size gives every score that float32 holds, as long as min(1, |scale|) *
/// sum |q_d k_d| is within it. The result has the same bits for every number of threads. Sums run in float32, and the
/// softmax is computed online. No Sq x Skv buffer exists unless the caller asks for one.
///
/// Sources: Vaswani et al. 2017 (the formula); Milakov & Gimelshein 2018 and Dao et al. 2022 (online softmax, tiles);
/// Press et al. 2022 (ALiBi); Xiao et al. 2023 (sinks); ONNX Attention opset 25 (visibility, softcap before mask).
namespace headwise {

class Arrival;
class ThreadPool;
class KvCache;

/// Whether keys after the query's position are hidden: a key is visible only if pi_bj <= i + offset_b. It also sets
/// offset_b if no query_offset is given. With `none` and no query_offset, the offset is 0, or on a cache the number of
/// tokens ever appended - query_length_b.
enum class Causal : std::int32_t {
  none = 0,         ///< nothing is hidden
  upper_left = 1,   ///< offset 0
  lower_right = 2,  ///< offset = key_length_b (or tokens ever appended to the cache) - query_length_b
};

/// The result of a query row that sees no key, in every output. Rows at or past their query length always follow
/// `zero`.
enum class EmptyRows : std::int32_t {
  zero = 0,     ///< o = 0, p = 0, entropy = 0, lse = -inf (or sink_h)
  nan = 1,      ///< o, p, entropy NaN; lse as in zero
  uniform = 2,  ///< p = 1/key_length on j < key_length, o their mean, lse = -inf, entropy = ln key_length
  fail = 3,     ///< StatusCode::empty_row before any work; see AttentionOptions::empty_row_report
};

/// A query row in a report: batch (or ragged sequence), head, and row within it.
struct RowIndex {
  std::int32_t batch, head, query;
};

/// EmptyRows::fail: the first rows that see no key.
struct EmptyRowReport {
  static constexpr int kMostRows = 8;

  RowIndex rows[kMostRows] = {};
  std::int32_t count = 0;
};

/// A choice of heads and query rows. A null list means all. `average` replaces the heads by their mean, of extent 1.
struct Selection {
  const std::int32_t* heads = nullptr;
  std::int64_t num_heads = 0;
  const std::int32_t* queries = nullptr;
  std::int64_t num_queries = 0;
  bool average = false;
};

/// Rows of a [B, heads, rows, width] array that a call overwrites: with data, or with a mean. Rows of padding stay as
/// they are.
struct Patch {
  Selection selection{};        ///< `queries` are the rows; an index must not occur twice; without `average`
  const float* data = nullptr;  ///< [B, chosen heads, chosen rows, width]
  bool mean = false;            ///< if `data` is null
  [[nodiscard]] bool given() const { return data || mean; }
};

/// Where to write rows of [B, heads, rows, width] as float32. A null pointer means not wanted.
struct View {
  float* data = nullptr;
  Selection selection{};  ///< `queries` are the rows; without `average`
};

/// What a call of a cache or a layer shows from its inside, with the effects of patches. Keys and values are those that
/// attention reads, of kv heads: with a cache all that it holds, and 0 at padding.
struct AttentionViews {
  View query{};  ///< as attention sees it, after rotary embedding
  View key{}, value{};
  View head_outputs{};  ///< after head_gain, width value_dim
};

/// Drops weights at random, in training (Srivastava et al. 2014): a weight is 0 with probability `rate`, and the others
/// are divided by 1 - rate. lse, entropy and the sum of the softmax are those without dropout. probs and top-k show the
/// weights that multiply the values, with dropout. A row that sees no key follows EmptyRows, without dropout.
///
/// Which weights are dropped depends on the seed and on the indices of batch, query head, query row and key row, and on
/// nothing else: not on threads, tiles, layouts, instruction sets or other options. In a ragged batch, the sequence
/// stands for the batch, and rows are counted from its beginning. Weight (b, h, i, j) is dropped if word j % 4 of
/// Philox4x32-10 with counter {floor(j / 4), i, h, b} and key {low, high half of the seed} is below
/// floor(rate * 2^32). (Salmon et al. 2011.)
struct Dropout {
  double rate = 0.0;  ///< 0 (off) to 1 (every weight is 0)
  std::uint64_t seed = 0;
};

struct AttentionShape {
  std::int64_t batch_size = 1;
  std::int64_t num_heads = 1;
  std::int64_t num_kv_heads = 1;
  std::int64_t query_length = 0;
  std::int64_t key_length = 0;  ///< ignored when a cache supplies the keys
  std::int64_t head_dim = 1;
  std::int64_t value_dim = 1;
};

struct AttentionInputs {
  ConstArray query{};  ///< [B, num_heads, Sq, D] in `layout`
  ConstArray key{};    ///< [B, num_kv_heads, Skv, D] in `kv_layout`
  ConstArray value{};  ///< [B, num_kv_heads, Skv, Dv] in `kv_layout`
  const KvCache* cache =
      nullptr;  ///< keys and values come from here, by KvCache::attend; `key` and `value` are ignored
  /// Of a rotary cache: where the queries stand, [B, Sq], or [3, B, Sq] with sections; null: at their indices. Masks
  /// and the like go by index.
  const std::int32_t* query_positions = nullptr;
  std::int64_t query_position_planes = 1;  ///< 3: with sections
  /// Of a ring: float32 in the layout of `query`, or null. The queries in the scores of the keys that the ring keeps
  /// for ever. KvCache::attend fills it in.
  const float* kept_query = nullptr;
  const std::uint8_t* mask = nullptr;  ///< nonzero = may attend
  BroadcastExtents mask_extents{};
  ConstArray bias{};  ///< added to the scores; -inf hides
  BroadcastExtents bias_extents{};
  /// Overwrites p, [B, num_heads, Sq, Skv]. The mean is that of the row's p over the keys that it sees. Data must be 0
  /// at keys that the batch or sequence does not have. It is used as it is, also at hidden keys. A key with p = 0
  /// contributes nothing. Output, probs, entropy and top-k follow from it; lse and scores do not. A row that is given
  /// data is not empty, also for EmptyRows::fail.
  Patch probs{};
  Arrival* arrival = nullptr;  ///< if not null, query, key and value are still being written: see arrival.h
};

struct AttentionOptions {
  Layout layout = Layout::bhsd;       ///< of query and output
  std::optional<Layout> kv_layout{};  ///< of key and value; default `layout`; ignored when a cache supplies the keys
  std::optional<float> scale{};       ///< finite; default 1/sqrt(head_dim)
  float softcap = 0.0f;               ///< finite, >= 0; 0 is off
  Causal causal = Causal::none;
  std::int64_t window_left = -1;   ///< keys visible before the query's position; -1 is unbounded
  std::int64_t window_right = -1;  ///< keys visible after it; -1 is unbounded
  bool exclude_self = false;
  EmptyRows empty_rows = EmptyRows::zero;
  EmptyRowReport* empty_row_report = nullptr;  ///< is set if the status is `empty_row`
  const std::int32_t* query_offset = nullptr;  ///< [num_sequences], may be negative
  const std::int32_t* key_lengths = nullptr;   ///< [B], 0..Skv
  /// [B], 0..Sq; null: Sq. On a cache the default offset depends on it. Give it for queries of tokens that were
  /// appended with `lengths`.
  const std::int32_t* query_lengths = nullptr;
  const float* alibi_slopes = nullptr;  ///< [num_heads], finite
  /// Where tokens stand for ALiBi, in place of i + offset_b and pi_bj: [B, Sq] and [B, Skv], of packed rows in a ragged
  /// batch. Both or none, and only with alibi_slopes. With a cache Skv is the length of its longest batch. Masks,
  /// windows and formulas go on by index.
  const std::int32_t* alibi_query_positions = nullptr;
  const std::int32_t* alibi_key_positions = nullptr;
  const float* sinks = nullptr;      ///< [num_heads], finite or -inf
  const float* head_gain = nullptr;  ///< [num_heads], finite; 0 gives exact 0
  Dropout dropout{};                 ///< not with a cache, nor with AttentionInputs::probs

  /// Formulas for each pair of a query and a key. Positions must be below 2^24.
  const Formula* score = nullptr;    ///< the new score; -inf hides the key; not with EmptyRows::fail
  const Formula* visible = nullptr;  ///< 0 hides the key; does not read s

  /// Ragged batch: sequence n owns query rows [cu_query[n], cu_query[n+1]) and key rows [cu_key[n], cu_key[n+1]) of a
  /// batch of 1. It sees no other keys. Positions start at 0 in every sequence. Both arrays are given, or none. Each
  /// has num_sequences + 1 ascending entries, from 0 to the packed length. key_lengths and query_lengths must be
  /// absent.
  const std::int32_t* cu_seq_lens_query = nullptr;
  const std::int32_t* cu_seq_lens_key = nullptr;
  std::int64_t num_sequences = 0;
};

enum class ScoreStage : std::int32_t { raw = 0, softcapped = 1, biased = 2, formula = 3 };

/// What to compute, and where to write it. A null pointer means not wanted. `probs` and `scores` are [B, heads,
/// queries, Skv] over the selected heads and queries, top-k is [B, heads, queries, k], lse and entropy are [B,
/// num_heads, Sq]. In a ragged batch B is 1, and Sq and Skv are the packed totals.
struct AttentionOutputs {
  MutableArray output{};  ///< [B, num_heads, Sq, Dv] in `layout`
  float* lse = nullptr;
  /// What float32 lost of lse: the logarithm is lse + lse_rest. Far from 0, lse alone loses the sum. Needs `lse`.
  float* lse_rest = nullptr;
  float* entropy = nullptr;
  float* probs = nullptr;
  Selection probs_selection{};
  float* scores = nullptr;  ///< raw and softcapped: for every pair, hidden or not (ragged: 0 between sequences);
                            ///< biased, formula: -inf where hidden
  ScoreStage scores_stage = ScoreStage::raw;
  Selection scores_selection{};  ///< `average` is not allowed
  /// Both or none. Descending; ties go to the lower index; short rows are padded with 0 and -1.
  float* top_k_values = nullptr;
  std::int32_t* top_k_indices = nullptr;  ///< key rows
  std::int64_t top_k = 0;
  Selection top_k_selection{};  ///< `average`: the mean over heads is taken before selecting
  /// The Skv that the caller allocated `probs` and `scores` for. A call with another Skv is refused, for example when a
  /// cache has grown since. Absent: not checked.
  std::optional<std::int64_t> key_room{};
};

/// Computes attention. The caller owns every array. Inputs are only read, and outputs must not overlap them. Any length
/// may be 0.
/// Time: O(B Hq Sq Skv_visible (D + Dv)). If probs, entropy, top-k or scores are wanted, their scores are computed
/// again. Keys that a mask hides from 16 neighbouring rows, or a bias that at least 4 rows share, cost nothing if they
/// fill a panel of 16 or 32 keys. Scratch for each worker: O(tile), and O(rows Skv) for the rows that are inspected at
/// a time. Scratch of the call: a bit for each panel of a mask's row, and about 24 bytes for the row. A visible formula
/// costs nothing for 16 neighbouring rows and a panel of keys if intervals can tell that it hides all of them; its
/// bounds take 8 bytes for each row, and its tables a fifth more.
[[nodiscard]] Status attention(ThreadPool& pool, const AttentionShape& shape, const AttentionInputs& inputs,
                               const AttentionOptions& options, const AttentionOutputs& outputs);

/// One part of a merge: the result of attention over some of the keys, with EmptyRows::zero and without sinks.
struct AttentionPart {
  ConstArray output{};         ///< [B, num_heads, Sq, Dv] in `layout`
  const float* lse = nullptr;  ///< [B, num_heads, Sq]
};

/// Merges parts computed over disjoint sets of keys: w_p = exp(lse_p - lse), o = sum_p w_p o_p,
/// lse = ln(sum_p exp(lse_p) + exp(sink_h)). This is mathematically exact. Rows that are empty in every part are zero.
[[nodiscard]] Status merge_attention(ThreadPool& pool, const AttentionShape& shape, Layout layout,
                                     const AttentionPart* parts, std::int64_t num_parts, const float* sinks,
                                     MutableArray output, float* lse);

}  // namespace headwise
