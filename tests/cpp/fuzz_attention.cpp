// libFuzzer target: any bytes become a call, computed with kernels of the fuzzer's choice: scalar, or one of the
// machine's vector sets. A refused call must write nothing; a computed one must lie within the error model of the
// double reference; nothing may trap under the address and undefined-behaviour sanitizers.
//
//   cmake --preset fuzz && cmake --build --preset fuzz
//   build/fuzz/tests/cpp/fuzz_attention -max_total_time=60 build/corpus/fuzz_attention

#include <gtest/gtest.h>

#include "expectations.h"
#include "fuzzed_call.h"
#include "harness.h"

namespace headwise {
namespace {

using cases::Case;

/// Raw scores of pairs in different ragged sequences mean nothing: they are not compared.
bool scores_are_defined(const Case& call) {
  return !call.returns.scores || call.returns.scores_stage >= ScoreStage::biased || call.cu_seq_lens_query.empty();
}

}  // namespace

void fuzz(const std::uint8_t* data, std::size_t size) {
  CallDecoder decoder(data, size);
  Case call = decoder.call();
  const bool poisoned = decoder.poison(call);
  FuzzedFormula score, visible;
  decoder.formulas(call, score, visible);
  cases::Results results(call.shape, call.returns, call.dtype);
  const std::vector<std::uint8_t> before = results.bits();
  AttentionShape shape = call.shape;
  const bool broken = decoder.break_shape(shape);
  const UsingKernels using_kernels(decoder.kernels());
  const Status status = attention(pool_of(2), shape, call.inputs(), call.options(), results.view());
  if (!status.ok()) {
    EXPECT_EQ(results.bits(), before) << "refused (" << status.message().text << "), but an output was written";
    return;
  }
  EXPECT_FALSE(broken) << "an impossible shape was accepted";
  if (!poisoned && scores_are_defined(call)) expect_near_reference(call, results);
}

}  // namespace headwise
