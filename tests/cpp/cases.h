#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "headwise/attention.h"

/// The shared case table of tests/cases: its format and its numbers are described in tests/cases/README.md.
namespace headwise::cases {

/// word(seed, stream, k): the generator behind every input.
[[nodiscard]] std::uint32_t word(std::uint32_t seed, std::uint32_t stream, std::uint32_t k);

/// An array that owns its bytes and knows its type.
class Array {
 public:
  Array() = default;
  Array(Dtype dtype, std::int64_t size);

  [[nodiscard]] std::int64_t size() const { return size_; }
  [[nodiscard]] Dtype dtype() const { return dtype_; }
  [[nodiscard]] double get(std::int64_t index) const;
  void set(std::int64_t index, double value);  ///< rounds to the type
  [[nodiscard]] ConstArray view() const { return {bytes_.data(), dtype_}; }
  [[nodiscard]] MutableArray mutable_view() { return {bytes_.data(), dtype_}; }
  [[nodiscard]] const std::vector<std::uint8_t>& bytes() const { return bytes_; }

 private:
  Dtype dtype_ = Dtype::float32;
  std::int64_t size_ = 0;
  std::vector<std::uint8_t> bytes_;
};

/// Numbers in [-1, 1) times `amplitude`, element k from word(seed, stream, k).
[[nodiscard]] Array random_array(Dtype dtype, std::int64_t size, std::uint32_t seed, std::uint32_t stream,
                                 double amplitude = 1.0);

/// Owns what a Selection points to.
struct OwnedSelection {
  std::vector<std::int32_t> heads, queries;  ///< empty: all
  bool average = false;

  [[nodiscard]] Selection view() const;
  /// The chosen heads and query rows, spelled out.
  [[nodiscard]] std::vector<std::int32_t> chosen_heads(const AttentionShape& shape) const;
  [[nodiscard]] std::vector<std::int32_t> chosen_queries(const AttentionShape& shape) const;
  /// Extent of the head axis: 1 when averaged.
  [[nodiscard]] std::int64_t head_extent(const AttentionShape& shape) const;
};

/// What a case asks for.
struct Returns {
  bool output = true, lse = true, entropy = false;
  std::optional<OwnedSelection> probs, scores, top_k;
  ScoreStage scores_stage = ScoreStage::raw;
  std::int64_t k = 0;
};

/// The gradients that a case asks for.
struct Gradients {
  bool query = false, key = false, value = false, bias = false, sinks = false, head_gain = false, alibi_slopes = false;
};

struct Case {
  std::string name;
  std::uint32_t seed = 0;
  AttentionShape shape;
  Dtype dtype = Dtype::float32;
  Array query, key, value;
  std::optional<Array> bias;
  std::vector<std::uint8_t> mask;
  bool has_mask = false;
  BroadcastExtents mask_extents, bias_extents;
  AttentionOptions scalars;  ///< the options that are not arrays
  std::vector<std::int32_t> query_offset, key_lengths, query_lengths, cu_seq_lens_query, cu_seq_lens_key;
  std::vector<float> alibi_slopes, sinks, head_gain;
  std::vector<std::int32_t> alibi_query_positions, alibi_key_positions;
  Returns returns;
  Array output_gradient;
  Gradients gradients;

  /// Views into this case: it must outlive them and stay where it is.
  [[nodiscard]] AttentionInputs inputs() const;
  [[nodiscard]] AttentionOptions options() const;
};

/// The whole table, read once. Ends the program with a message if it cannot be read.
[[nodiscard]] const std::vector<Case>& table();
[[nodiscard]] const Case& named(const std::string& name);

/// Room for the results that `returns` asks for, filled with NaN so that an element left out shows.
class Results {
 public:
  Results(const AttentionShape& shape, const Returns& returns, Dtype output_dtype);
  [[nodiscard]] AttentionOutputs view();
  /// The bits of everything, in one row, to compare runs.
  [[nodiscard]] std::vector<std::uint8_t> bits() const;

  Array output;
  std::vector<float> lse, entropy, probs, scores, top_k_values;
  std::vector<std::int32_t> top_k_indices;

 private:
  Returns returns_;
};

}  // namespace headwise::cases
