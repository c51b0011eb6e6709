// libFuzzer target: any bytes become a call of gradients, some of them with formulas. What is refused must write
// nothing; what is computed must lie within the error model of the double reference.
//
//   cmake --preset fuzz && cmake --build --preset fuzz
//   build/fuzz/tests/cpp/fuzz_backward -max_total_time=60 build/corpus/fuzz_backward

#include <gtest/gtest.h>

#include "fuzzed_call.h"
#include "gradients.h"
#include "harness.h"

namespace headwise {

void fuzz(const std::uint8_t* data, std::size_t size) {
  CallDecoder decoder(data, size);
  cases::Case call = decoder.call();
  call.returns = {};
  const bool poisoned = decoder.poison(call);
  FuzzedFormula score, visible, slope;
  decoder.formulas(call, score, visible);
  std::vector<FormulaRead> reads;
  ScoreDerivative derivative;
  if (call.scalars.score) decoder.derivative(slope, reads, derivative);
  const UsingKernels using_kernels(decoder.kernels());

  cases::Results forward(call.shape, call.returns, call.dtype);
  if (!attention(pool_of(2), call.shape, call.inputs(), call.options(), forward.view()).ok()) return;
  const gradients::Problem problem{forward.output, cases::random_array(call.dtype, forward.output.size(), call.seed, 7),
                                   forward.lse};
  gradients::Call backward(call, problem);
  if (call.scalars.score) backward.derivative = &derivative;
  gradients::Results results(call, backward.options, backward.derivative);
  const std::vector<std::uint8_t> before = results.bits();
  const Status status = backward.run(2, results);
  if (!status.ok()) {
    EXPECT_EQ(results.bits(), before) << "refused (" << status.message().text << "), but an output was written";
    return;
  }
  if (!poisoned) gradients::expect_near_reference(backward, results);
}

}  // namespace headwise
