// A ragged batch is one call that equals a call for each of its sequences.

#include <cmath>

#include "harness.h"
#include "reference/reference.h"

namespace headwise::test_ragged {

using cases::Case;
using cases::Results;

/// Rows [begin, end) of a packed [1, S, H, W] array.
cases::Array rows_of(const cases::Array& packed, std::int64_t row_size, std::int64_t begin, std::int64_t end) {
  cases::Array rows(packed.dtype(), (end - begin) * row_size);
  for (std::int64_t k = 0; k < rows.size(); ++k) rows.set(k, packed.get(begin * row_size + k));
  return rows;
}

/// Sequence n of a ragged case as a call of its own.
Case sequence_of(const Case& ragged, std::size_t n) {
  const std::int64_t query_begin = ragged.cu_seq_lens_query[n], query_end = ragged.cu_seq_lens_query[n + 1];
  const std::int64_t key_begin = ragged.cu_seq_lens_key[n], key_end = ragged.cu_seq_lens_key[n + 1];
  Case call = ragged;
  call.shape.query_length = query_end - query_begin;
  call.shape.key_length = key_end - key_begin;
  const AttentionShape& s = call.shape;
  call.query = rows_of(ragged.query, s.num_heads * s.head_dim, query_begin, query_end);
  call.key = rows_of(ragged.key, s.num_kv_heads * s.head_dim, key_begin, key_end);
  call.value = rows_of(ragged.value, s.num_kv_heads * s.value_dim, key_begin, key_end);
  call.cu_seq_lens_query.clear();
  call.cu_seq_lens_key.clear();
  if (!ragged.query_offset.empty()) call.query_offset = {ragged.query_offset[n]};
  return call;
}

class Ragged : public testing::TestWithParam<std::string> {};

TEST_P(Ragged, HasTheBitsOfEverySequenceComputedAlone) {
  Case ragged = cases::named(GetParam());
  ragged.returns = cases::Returns();
  ragged.returns.entropy = true;
  const Results together = compute(ragged, 3);
  const AttentionShape& s = ragged.shape;
  for (std::size_t n = 0; n + 1 < ragged.cu_seq_lens_query.size(); ++n) {
    SCOPED_TRACE(testing::Message() << "sequence " << n);
    const Results alone = compute(sequence_of(ragged, n));
    const std::int64_t begin = ragged.cu_seq_lens_query[n], length = ragged.cu_seq_lens_query[n + 1] - begin;
    const std::int64_t width = s.num_heads * s.value_dim;
    for (std::int64_t k = 0; k < length * width; ++k)
      ASSERT_EQ(together.output.get(begin * width + k), alone.output.get(k));
    for (std::int64_t h = 0; h < s.num_heads; ++h) {
      for (std::int64_t i = 0; i < length; ++i) {
        ASSERT_EQ(together.lse[h * s.query_length + begin + i], alone.lse[h * length + i]);
        ASSERT_EQ(together.entropy[h * s.query_length + begin + i], alone.entropy[h * length + i]);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Table, Ragged,
                         testing::Values("ragged-BSHD", "ragged-BSE", "ragged-BSHD-causal",
                                         "ragged-BSHD-empty-sequences", "ragged-BSHD-empty-uniform",
                                         "ragged-BSHD-offsets-window-alibi", "ragged-BSHD-exclude-self-sinks",
                                         "ragged-BSHD-one-token-each", "ragged-BSHD-half", "ragged-BSHD-long"),
                         case_named);

TEST(RaggedBatch, OtherSequencesMayHoldAnything) {
  const Case clean = cases::named("ragged-BSHD-causal");
  Case poisoned = clean;
  const AttentionShape& s = clean.shape;
  for (std::int64_t k = 0; k < 17 * s.num_kv_heads * s.head_dim; ++k) {  // all of sequence 0
    poisoned.key.set(k, NAN);
    poisoned.value.set(k, NAN);
  }
  const Results expected = compute(clean), results = compute(poisoned);
  for (std::int64_t k = 17 * s.num_heads * s.value_dim; k < results.output.size(); ++k)
    ASSERT_EQ(results.output.get(k), expected.output.get(k));
}

}  // namespace headwise::test_ragged
