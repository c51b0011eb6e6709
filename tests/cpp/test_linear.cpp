// The product as an operation of its own, and its gradient, against double.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "base/numbers.h"
#include "harness.h"
#include "headwise/linear.h"
#include "layer_model.h"
#include "refusals.h"
#include "tolerance.h"

namespace headwise::test_linear {

using layers::Floats;
using layers::random_floats;
using tolerance::kEpsilon;

/// Float32 may be this far from a sum of `terms` products whose magnitudes add up to `magnitude`: each product and each
/// addition rounds once, and the bias is one more term.
double sum_error(std::int64_t terms, double magnitude) {
  return static_cast<double>(terms + 2) * kEpsilon * magnitude + 0x1p-120;
}

/// A call with random inputs, its weight stored [in, out] or [out, in].
struct Call {
  LinearShape shape;
  bool out_in = false;
  Floats x, weight, bias, dy;
  std::vector<std::int8_t> bytes;  ///< of a weight of int8; `weight` is then what it means
  Floats scales;

  Call(const LinearShape& s, bool stored_out_in, bool has_bias = true, unsigned seed = 1)
      : shape(s),
        out_in(stored_out_in),
        x(random_floats(s.rows * s.in, seed)),
        weight(random_floats(s.in * s.out, seed + 1)),
        dy(random_floats(s.rows * s.out, seed + 3)) {
    if (has_bias) bias = random_floats(s.out, seed + 2);
  }

  [[nodiscard]] std::int64_t in_stride() const { return out_in ? 1 : shape.out; }
  [[nodiscard]] std::int64_t out_stride() const { return out_in ? shape.in : 1; }
  [[nodiscard]] std::int64_t at(std::int64_t i, std::int64_t o) const { return i * in_stride() + o * out_stride(); }
  [[nodiscard]] LinearWeights weights() const {
    const ConstArray array = bytes.empty() ? ConstArray{weight.data()} : ConstArray{bytes.data(), Dtype::int8};
    return {array,
            in_stride(),
            out_stride(),
            {bias.empty() ? nullptr : bias.data()},
            scales.empty() ? nullptr : scales.data()};
  }

  /// Quantises the weight, with one scale for each output.
  void quantise() {
    const auto& [rows, in, out] = shape;
    bytes.resize(weight.size());
    scales.resize(static_cast<std::size_t>(out));
    Floats column(static_cast<std::size_t>(in));
    std::vector<std::int8_t> q(column.size());
    for (std::int64_t o = 0; o < out; ++o) {
      for (std::int64_t i = 0; i < in; ++i) column[i] = weight[at(i, o)];
      quantise_row(column.data(), in, q.data(), &scales[o]);
      for (std::int64_t i = 0; i < in; ++i) bytes[at(i, o)] = q[i], weight[at(i, o)] = q[i] * scales[o];
    }
  }
};

Floats output_of(const Call& call, int threads = 1) {
  Floats y(static_cast<std::size_t>(call.shape.rows * call.shape.out), 9.0f);
  const Status status = linear(pool_of(threads), call.shape, {call.x.data()}, call.weights(), {y.data()});
  EXPECT_TRUE(status.ok()) << status.message().text;
  return y;
}

struct Gradients {
  Floats input, weight, bias;
  explicit Gradients(const LinearShape& s)
      : input(static_cast<std::size_t>(s.rows * s.in), 9.0f),
        weight(static_cast<std::size_t>(s.in * s.out), 9.0f),
        bias(static_cast<std::size_t>(s.out), 9.0f) {}
  [[nodiscard]] LinearGradients view() { return {input.data(), weight.data(), bias.data()}; }
  bool operator==(const Gradients&) const = default;
};

Gradients gradients_of(const Call& call, int threads = 1) {
  Gradients gradients(call.shape);
  const Status status = linear_backward(pool_of(threads), call.shape, {call.x.data()}, call.weights(), {call.dy.data()},
                                        gradients.view());
  EXPECT_TRUE(status.ok()) << status.message().text;
  return gradients;
}

/// A sum of products in double, and the sum of their magnitudes.
struct Sum {
  double value = 0, magnitude = 0;
  void add(double a, double b) { value += a * b, magnitude += std::abs(a * b); }
};

void expect_sum(float got, const Sum& sum, std::int64_t terms, const std::string& where) {
  EXPECT_NEAR(got, sum.value, sum_error(terms, sum.magnitude)) << where;
}

void expect_formula(const Call& call, int threads = 1) {
  const auto& [rows, in, out] = call.shape;
  const Floats y = output_of(call, threads);
  const Gradients gradients = gradients_of(call, threads);
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t o = 0; o < out; ++o) {
      Sum sum;
      if (!call.bias.empty()) sum.add(call.bias[o], 1);
      for (std::int64_t i = 0; i < in; ++i) sum.add(call.x[r * in + i], call.weight[call.at(i, o)]);
      expect_sum(y[r * out + o], sum, in, "y");
    }
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t i = 0; i < in; ++i) {
      Sum sum;
      for (std::int64_t o = 0; o < out; ++o) sum.add(call.dy[r * out + o], call.weight[call.at(i, o)]);
      expect_sum(gradients.input[r * in + i], sum, out, "dx");
    }
  for (std::int64_t i = 0; i < in; ++i)
    for (std::int64_t o = 0; o < out; ++o) {
      Sum sum;
      for (std::int64_t r = 0; r < rows; ++r) sum.add(call.x[r * in + i], call.dy[r * out + o]);
      expect_sum(gradients.weight[call.at(i, o)], sum, rows, "dw");
    }
  for (std::int64_t o = 0; o < out; ++o) {
    Sum sum;
    for (std::int64_t r = 0; r < rows; ++r) sum.add(call.dy[r * out + o], 1);
    expect_sum(gradients.bias[o], sum, rows, "db");
  }
}

TEST(Linear, EqualsTheFormulaAroundTheEdgesOfTiles) {
  for (const bool out_in : {false, true})
    for (const LinearShape& shape : {LinearShape{1, 1, 1}, LinearShape{3, 7, 5}, LinearShape{33, 17, 40},
                                     LinearShape{130, 129, 15}, LinearShape{300, 20, 390}, LinearShape{31, 140, 400}})
      expect_formula(Call(shape, out_in));
}

TEST(Linear, EqualsTheFormulaWithSeveralPartsOfTokens) {
  for (const bool out_in : {false, true}) expect_formula(Call({5000, 6, 9}, out_in, false), 2);
}

TEST(Linear, HoldsOnEveryKernelOfThisMachine) {
  for (const KernelTable* table : kernel_tables()) {
    const UsingKernels using_kernels(*table);
    SCOPED_TRACE(table->name);
    for (const bool out_in : {false, true}) expect_formula(Call({200, 37, 45}, out_in), 2);
  }
}

TEST(Linear, OfNoRowsGivesNothingAndGradientsOfZero) {
  const Call call({0, 5, 7}, false);
  EXPECT_TRUE(output_of(call).empty());
  const Gradients gradients = gradients_of(call);
  EXPECT_EQ(gradients.weight, Floats(35, 0.0f));
  EXPECT_EQ(gradients.bias, Floats(7, 0.0f));
}

TEST(Linear, TakesFloat16AndGivesFloat16) {
  Call call({40, 24, 12}, true);
  const auto narrowed = [](Floats& values) {
    std::vector<std::uint16_t> half(values.size());
    floats_to_halves(values.data(), static_cast<std::int64_t>(half.size()), half.data());
    halves_to_floats(half.data(), static_cast<std::int64_t>(half.size()), values.data());
    return half;
  };
  const auto x = narrowed(call.x), weight = narrowed(call.weight), bias = narrowed(call.bias), dy = narrowed(call.dy);
  const Floats expected = output_of(call);
  std::vector<std::uint16_t> y(expected.size()), rounded(expected.size());
  floats_to_halves(expected.data(), static_cast<std::int64_t>(y.size()), rounded.data());
  const LinearWeights weights{{weight.data(), Dtype::float16}, 1, 24, {bias.data(), Dtype::float16}};
  ASSERT_TRUE(linear(pool_of(1), call.shape, {x.data(), Dtype::float16}, weights, {y.data(), Dtype::float16}).ok());
  EXPECT_EQ(y, rounded);
  Gradients gradients(call.shape);
  ASSERT_TRUE(linear_backward(pool_of(1), call.shape, {x.data(), Dtype::float16}, weights, {dy.data(), Dtype::float16},
                              gradients.view())
                  .ok());
  EXPECT_EQ(gradients, gradients_of(call));
}

/// The weights of few rows are read where they lie, and those of many rows are packed.
const LinearShape kRowsAndEdges[] = {{1, 1, 1}, {1, 129, 70}, {2, 7, 5}, {5, 33, 200}, {8, 40, 1030}, {9, 40, 33}};

/// The most that rounding inputs to whole numbers may add to |y|: each input differs by 2^-29 of the largest in its
/// block of 128, or by 2^-142.
double fixed_point_error(const Call& call, std::int64_t r, std::int64_t o) {
  constexpr std::int64_t kBlock = 128;
  double error = 0;
  for (std::int64_t first = 0; first < call.shape.in; first += kBlock) {
    double largest = 0, weights = 0;
    for (std::int64_t i = first; i < std::min(first + kBlock, call.shape.in); ++i) {
      largest = std::max(largest, std::abs(static_cast<double>(call.x[r * call.shape.in + i])));
      weights += std::abs(static_cast<double>(call.bytes[call.at(i, o)]) * call.scales[o]);
    }
    // the rounded sums of the parts may be larger than the sum, too
    error += std::max(0x1p-29 * largest, 0x1p-142) * weights * 1.01;
  }
  return error;
}

void expect_formula_of_int8(const Call& call, int threads) {
  const auto& [rows, in, out] = call.shape;
  const Floats y = output_of(call, threads);
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t o = 0; o < out; ++o) {
      Sum sum;
      if (!call.bias.empty()) sum.add(call.bias[o], 1);
      for (std::int64_t i = 0; i < in; ++i)
        sum.add(call.x[r * in + i], static_cast<double>(call.bytes[call.at(i, o)]) * call.scales[o]);
      // one rounding more, of the product with the scale
      ASSERT_NEAR(y[r * out + o], sum.value, sum_error(in + 1, sum.magnitude) + fixed_point_error(call, r, o))
          << r << ", " << o << " of " << in << " x " << out;
    }
}

TEST(LinearOfInt8, EqualsTheFormulaOverTheDequantisedWeight) {
  for (const KernelTable* table : kernel_tables()) {
    const UsingKernels using_kernels(*table);
    SCOPED_TRACE(table->name);
    for (const bool out_in : {false, true})
      for (const bool has_bias : {false, true})
        for (const LinearShape& shape : kRowsAndEdges) {
          Call call(shape, out_in, has_bias);
          call.quantise();
          expect_formula_of_int8(call, 2);
        }
  }
}

TEST(LinearOfInt8, EqualsTheFormulaForAllRemaindersOfInputsAndOutputs) {
  for (std::int64_t n = 1; n <= 70; ++n)
    for (const LinearShape& shape : {LinearShape{1, n, 71 - n}, LinearShape{2, 256 + n, n}}) {
      Call call(shape, true, false, static_cast<unsigned>(n));
      call.quantise();
      expect_formula_of_int8(call, 2);
    }
}

TEST(LinearOfInt8, EqualsTheFormulaForInputsOfAllMagnitudes) {
  for (const float magnitude : {0x1p-149f, 0x1p-130f, 0x1p-100f, 1.0f, 0x1p60f, 0x1p110f})
    for (const float spread : {1.0f, 0x1p-20f, 0x1p-40f}) {
      Call call({1, 300, 9}, true);
      call.quantise();
      for (std::int64_t i = 0; i < 300; ++i) call.x[i] *= i % 3 == 0 ? magnitude : magnitude * spread;
      expect_formula_of_int8(call, 1);
    }
}

TEST(LinearOfInt8, SumsTheLargestProductsExactly) {
  // 128 inputs share a unit; whole numbers of inputs and weights are as large as they can be
  for (const std::int8_t weight : {127, -127, -128})
    for (const float x : {0x1.fffffep-1f, -0x1.fffffep-1f, 0x1.fffffep+10f}) {
      Call call({1, 512, 5}, true, false);
      call.quantise();
      std::fill(call.bytes.begin(), call.bytes.end(), weight);
      std::fill(call.scales.begin(), call.scales.end(), 1.0f);
      std::fill(call.x.begin(), call.x.end(), x);
      expect_formula_of_int8(call, 1);
    }
}

TEST(LinearOfInt8, GivesWhatInfinitiesAndNaNsGiveInFloat32) {
  const float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  for (const std::vector<float>& odd : {Floats{infinity}, Floats{-infinity}, Floats{nan}, Floats{infinity, -infinity}})
    for (const std::int64_t rows : {1, 8}) {
      Call call({rows, 140, 9}, true);
      call.quantise();
      for (std::size_t n = 0; n < odd.size(); ++n) call.x[3 + 130 * n] = odd[n];
      call.bytes[call.at(3, 4)] = 0;
      const Floats y = output_of(call);
      for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t o = 0; o < 9; ++o) {
          float expected = 0;
          for (std::int64_t i = 0; i < 140; ++i)
            expected += call.x[r * 140 + i] * static_cast<float>(call.bytes[call.at(i, o)]);
          const float got = y[r * 9 + o];
          if (std::isnan(expected))
            EXPECT_TRUE(std::isnan(got)) << got;
          else if (std::isinf(expected))
            EXPECT_EQ(got, expected);
          else
            EXPECT_TRUE(std::isfinite(got)) << got;
        }
    }
}

/// The product with a stored weight has the bits of that with the call's own float32.
void expect_its_product(const Call& call, ConstArray stored) {
  LinearWeights weights = call.weights();
  weights.weight = stored;
  Floats y(static_cast<std::size_t>(call.shape.rows * call.shape.out));
  ASSERT_TRUE(linear(pool_of(1), call.shape, {call.x.data()}, weights, {y.data()}).ok());
  const Floats expected = output_of(call);
  for (std::size_t n = 0; n < y.size(); ++n)
    EXPECT_TRUE(y[n] == expected[n] || (std::isnan(y[n]) && std::isnan(expected[n]))) << y[n] << " " << expected[n];
}

TEST(LinearOfFloat16, HasTheBitsOfTheWidenedWeightIfItOrXIsHuge) {
  const float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  for (const float odd : {65504.0f, 0x1p-24f, -infinity, nan})
    for (const float factor : {1.0f, 0x1p15f, 0x1p16f, 0x1p100f, 0x1p-140f})
      for (const std::int64_t rows : {1, 2, 4}) {
        Call call({rows, 67, 40}, true);
        call.weight[call.at(5, 20)] = call.weight[call.at(66, 3)] = odd;
        call.x[7] *= factor, call.x[9] *= -factor;
        std::vector<std::uint16_t> halves(call.weight.size());
        floats_to_halves(call.weight.data(), static_cast<std::int64_t>(halves.size()), halves.data());
        halves_to_floats(halves.data(), static_cast<std::int64_t>(halves.size()), call.weight.data());
        SCOPED_TRACE(testing::Message() << "odd " << odd << " factor " << factor);
        expect_its_product(call, {halves.data(), Dtype::float16});
      }
}

/// Rounds an array to float16 or bfloat16, whose bits it returns.
std::vector<std::uint16_t> round_to(Dtype dtype, Floats& values) {
  std::vector<std::uint16_t> bits;
  for (float& value : values)
    if (dtype == Dtype::float16) {
      bits.push_back(float_to_half(value));
      value = half_to_float(bits.back());
    } else {
      bits.push_back(float_to_bfloat(value).bits);
      value = bfloat_to_float({bits.back()});
    }
  return bits;
}

TEST(LinearOf16Bits, HasTheBitsOfTheWidenedWeightAndBias) {
  for (const KernelTable* table : kernel_tables())
    for (const Dtype dtype : {Dtype::float16, Dtype::bfloat16})
      for (const bool out_in : {false, true})
        for (const LinearShape& shape : kRowsAndEdges) {
          const UsingKernels using_kernels(*table);
          SCOPED_TRACE(testing::Message() << table->name << " dtype " << static_cast<int>(dtype));
          Call call(shape, out_in);
          const auto weight = round_to(dtype, call.weight), bias = round_to(dtype, call.bias);
          LinearWeights weights = call.weights();
          weights.weight = {weight.data(), dtype};
          weights.bias = {bias.data(), dtype};
          Floats y(static_cast<std::size_t>(shape.rows * shape.out));
          for (const int threads : {1, 3}) {
            ASSERT_TRUE(linear(pool_of(threads), shape, {call.x.data()}, weights, {y.data()}).ok());
            EXPECT_EQ(y, output_of(call));
          }
          Gradients gradients(shape);
          ASSERT_TRUE(
              linear_backward(pool_of(1), shape, {call.x.data()}, weights, {call.dy.data()}, gradients.view()).ok());
          EXPECT_EQ(gradients, gradients_of(call));
        }
}

TEST(LinearOfBfloat16, KeepsInfinitiesNaNsAndTheSmallestNumbers) {
  const float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  for (const bool out_in : {false, true})
    for (const std::int64_t rows : {1, 4, 9})
      for (const float odd : {infinity, -infinity, nan, 0x1p-133f, 0x1.fep127f}) {
        Call call({rows, 67, 40}, out_in);
        call.weight[call.at(5, 20)] = call.weight[call.at(66, 3)] = odd;
        const auto bits = round_to(Dtype::bfloat16, call.weight);
        SCOPED_TRACE(odd);
        expect_its_product(call, {bits.data(), Dtype::bfloat16});
      }
}

/// The rows of a Toeplitz matrix are parts of one array. What is read beyond its end only a checker of memory sees.
TEST(LinearOfFloat16, TakesRowsThatOverlapAndReadsNothingBehindTheLast) {
  constexpr std::int64_t kIn = 256, kOut = 192, kStep = 3;
  const Floats line = random_floats((kOut - 1) * kStep + kIn, 7), x = random_floats(kIn, 8);
  const auto length = static_cast<std::int64_t>(line.size());
  const std::vector<std::uint16_t> halves = [&] {
    std::vector<std::uint16_t> rounded(line.size());
    floats_to_halves(line.data(), length, rounded.data());
    return rounded;
  }();
  Floats y(kOut);
  const LinearShape shape{1, kIn, kOut};
  ASSERT_TRUE(linear(pool_of(1), shape, {x.data()}, {{halves.data(), Dtype::float16}, 1, kStep}, {y.data()}).ok());
  for (std::int64_t o = 0; o < kOut; ++o) {
    double sum = 0, magnitude = 0;
    for (std::int64_t i = 0; i < kIn; ++i) {
      const double product = static_cast<double>(x[i]) * half_to_float(halves[o * kStep + i]);
      sum += product, magnitude += std::abs(product);
    }
    EXPECT_NEAR(y[o], sum, sum_error(kIn, magnitude));
  }
}

TEST(Linear, ComputesOnlyTheGradientsThatAreWanted) {
  const Call call({50, 6, 9}, false);
  const Gradients all = gradients_of(call);
  for (int which = 0; which < 3; ++which) {
    Gradients some(call.shape);
    LinearGradients view;
    if (which == 0) view.input = some.input.data();
    if (which == 1) view.weight = some.weight.data();
    if (which == 2) view.bias = some.bias.data();
    ASSERT_TRUE(linear_backward(pool_of(1), call.shape, {call.x.data()}, call.weights(), {call.dy.data()}, view).ok());
    EXPECT_EQ(some.input, which == 0 ? all.input : Floats(50 * 6, 9.0f));
    EXPECT_EQ(some.weight, which == 1 ? all.weight : Floats(54, 9.0f));
    EXPECT_EQ(some.bias, which == 2 ? all.bias : Floats(9, 9.0f));
  }
}

TEST(LinearBits, DoNotDependOnThreads) {
  for (const bool out_in : {false, true}) {
    const Call call({1000, 150, 70}, out_in);
    const Floats y = output_of(call);
    const Gradients gradients = gradients_of(call);
    for (const int threads : {2, 3, 4}) {
      EXPECT_EQ(output_of(call, threads), y);
      EXPECT_EQ(gradients_of(call, threads), gradients);
    }
  }
}

TEST(LinearBits, OfFewRowsAreThoseOfManyRowsOnAnyThreads) {
  for (const bool out_in : {false, true})
    for (const bool is_int8 : {false, true})
      for (const KernelTable* table : kernel_tables()) {
        const UsingKernels using_kernels(*table);
        SCOPED_TRACE(table->name);
        Call call({40, 167, 331}, out_in);
        if (is_int8) call.quantise();
        // few rows of int8 [out, in] are multiplied as whole numbers
        if (is_int8 && out_in) call.shape.rows = 8;
        Floats y = output_of(call);
        for (const std::int64_t rows : {9, 8, 5, 3, 1}) {
          if (rows > call.shape.rows) continue;
          call.shape.rows = rows;
          y.resize(static_cast<std::size_t>(rows * call.shape.out));
          for (const int threads : {1, 2, 4}) EXPECT_EQ(output_of(call, threads), y) << rows << " rows";
        }
      }
}

/// The weight of a call in panels of this machine's width. Its numbers are rounded to what the panels hold.
struct Panels {
  Dtype dtype;
  Buffer<float> numbers;
  Buffer<std::uint16_t> halves;

  Panels(Call& call, Dtype of) : dtype(of) {
    for (float& weight : call.weight) weight = rounded(weight);
    const std::int64_t width = panel_width(), in = call.shape.in;
    const std::int64_t count = round_up(call.shape.out, width) * in;
    EXPECT_FALSE(allocate_all(numbers, count, halves, count));
    std::fill_n(numbers.data(), count, 0.0f);
    for (std::int64_t o = 0; o < call.shape.out; ++o)
      for (std::int64_t i = 0; i < in; ++i)
        numbers[(o - o % width) * in + i * width + o % width] = call.weight[static_cast<std::size_t>(call.at(i, o))];
    if (dtype == Dtype::float16) floats_to_halves(numbers.data(), count, halves.data());
    if (dtype == Dtype::bfloat16) floats_to_bfloats(numbers.data(), count, reinterpret_cast<Bfloat16*>(halves.data()));
  }
  [[nodiscard]] float rounded(float x) const {
    if (dtype == Dtype::float16) return half_to_float(float_to_half(x));
    return dtype == Dtype::bfloat16 ? bfloat_to_float(float_to_bfloat(x)) : x;
  }
  [[nodiscard]] PanelWeights weights(const Call& call) const {
    const ConstArray panels = dtype == Dtype::float32 ? ConstArray{numbers.data()} : ConstArray{halves.data(), dtype};
    return {panels, call.weights().bias};
  }
};

TEST(LinearBits, OfAWeightInPanelsAreThoseOfTheWeightAsItLies) {
  for (const Dtype dtype : {Dtype::float32, Dtype::float16, Dtype::bfloat16})
    for (const LinearShape& shape : {LinearShape{40, 167, 331}, {9, 4100, 16}, {1, 1, 1}, {3, 70, 1200}})
      for (const bool has_bias : {false, true})
        for (const KernelTable* table : kernel_tables()) {
          const UsingKernels using_kernels(*table);
          SCOPED_TRACE(table->name);
          Call call(shape, true, has_bias);
          const Panels panels(call, dtype);
          for (std::int64_t rows = shape.rows; rows > 0; rows /= 3) {
            call.shape.rows = rows;
            const Floats expected = output_of(call);
            for (const int threads : {1, 3}) {
              Floats y(expected.size(), 9.0f);
              ASSERT_TRUE(linear(pool_of(threads), call.shape, {call.x.data()}, panels.weights(call), {y.data()}).ok());
              EXPECT_EQ(y, expected) << rows << " rows, " << threads << " threads";
            }
          }
        }
}

TEST(LinearBits, OfARowDoNotDependOnOtherRows) {
  const Call all({70, 33, 20}, false);
  const Floats y = output_of(all);
  const Gradients gradients = gradients_of(all);
  for (const std::int64_t r : {0, 31, 32, 69}) {
    Call one = all;
    one.shape.rows = 1;
    one.x.assign(all.x.begin() + r * 33, all.x.begin() + (r + 1) * 33);
    one.dy.assign(all.dy.begin() + r * 20, all.dy.begin() + (r + 1) * 20);
    const Floats alone = output_of(one), back = gradients_of(one).input;
    EXPECT_TRUE(std::equal(alone.begin(), alone.end(), y.begin() + r * 20));
    EXPECT_TRUE(std::equal(back.begin(), back.end(), gradients.input.begin() + r * 33));
  }
}

TEST(LinearBits, ARowWhoseGradientIsZeroAddsNothingWhateverItHolds) {
  for (const bool out_in : {false, true}) {
    Call call({200, 10, 12}, out_in);
    std::fill_n(call.dy.begin() + 77 * 12, 12, 0.0f);
    const Gradients expected = gradients_of(call);
    std::fill_n(call.x.begin() + 77 * 10, 10, std::numeric_limits<float>::quiet_NaN());
    EXPECT_EQ(gradients_of(call), expected);
  }
}

TEST(LinearRules, AreAStatus) {
  const Call call({4, 3, 2}, false);
  Floats y(8, 9.0f);
  const auto code = [&](const LinearShape& shape, const LinearWeights& weights, Dtype dtype) {
    return linear(pool_of(1), shape, {call.x.data(), dtype}, weights, {y.data()}).code;
  };
  EXPECT_EQ(code({-1, 3, 2}, call.weights(), Dtype::float32), StatusCode::invalid_shape);
  EXPECT_EQ(code({4, 0, 2}, call.weights(), Dtype::float32), StatusCode::invalid_shape);
  EXPECT_EQ(code({std::int64_t{1} << 62, 3, 2}, call.weights(), Dtype::float32), StatusCode::invalid_shape);
  EXPECT_EQ(code(call.shape, {}, Dtype::float32), StatusCode::invalid_shape);
  for (const Dtype dtype : {Dtype::int8, Dtype::bfloat16})
    EXPECT_EQ(code(call.shape, call.weights(), dtype), StatusCode::unsupported);
  Call quantised = call;
  quantised.quantise();
  LinearWeights weights = quantised.weights();
  weights.scales = nullptr;
  EXPECT_EQ(code(call.shape, weights, Dtype::float32), StatusCode::invalid_option);
  for (const float wrong : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    quantised.scales[1] = wrong;
    EXPECT_EQ(code(call.shape, quantised.weights(), Dtype::float32), StatusCode::invalid_option);
  }
  EXPECT_EQ(linear_backward(pool_of(1), call.shape, {call.x.data()}, quantised.weights(), {call.dy.data()}, {}).code,
            StatusCode::unsupported);
  EXPECT_EQ(y, Floats(8, 9.0f));
}

/// Runs `compute` with each of its requests for memory refused in turn, on a pool that has no memory yet.
/// `expect_untouched` looks at its outputs.
template <class Compute, class Expect>
void expect_status_at_every_request(const Compute& compute, const Expect& expect_untouched, int least = 3) {
  const auto attempt = [&] {
    ThreadPool pool(2);
    return compute(pool);
  };
  EXPECT_GE(refuse_each_request(attempt, expect_untouched), least);
}

TEST(LinearRules, OfPanelsAreAStatus) {
  Call call({4, 3, 2}, false);
  const Panels panels(call, Dtype::float32);
  const float* const numbers = panels.numbers.data();
  Floats y(8, 9.0f);
  const auto code = [&](const LinearShape& shape, const PanelWeights& weights, Dtype dtype) {
    return linear(pool_of(1), shape, {call.x.data(), dtype}, weights, {y.data()}).code;
  };
  EXPECT_EQ(code({4, 0, 2}, {{numbers}, {}}, Dtype::float32), StatusCode::invalid_shape);
  EXPECT_EQ(code(call.shape, {{}, {}}, Dtype::float32), StatusCode::invalid_shape);
  EXPECT_EQ(code(call.shape, {{numbers + 1}, {}}, Dtype::float32), StatusCode::invalid_option);
  EXPECT_EQ(code(call.shape, {{numbers}, {numbers, Dtype::int8}}, Dtype::float32), StatusCode::unsupported);
  EXPECT_EQ(code(call.shape, {{numbers, Dtype::int8}, {}}, Dtype::float32), StatusCode::unsupported);
  EXPECT_EQ(code(call.shape, {{numbers}, {}}, Dtype::int8), StatusCode::unsupported);
  EXPECT_EQ(y, Floats(8, 9.0f));
}
TEST(LinearMemory, OfFewRowsThatIsNotToBeHadIsAStatusAndWritesNothing) {
  Call call({2, 6, 9}, false);
  call.quantise();
  Floats y(2 * 9, 9.0f);
  expect_status_at_every_request(
      [&](ThreadPool& pool) { return linear(pool, call.shape, {call.x.data()}, call.weights(), {y.data()}); },
      [&] { EXPECT_EQ(y, Floats(2 * 9, 9.0f)); }, 1);
}

TEST(LinearMemory, ThatIsNotToBeHadIsAStatusAndWritesNothing) {
  Call call({40, 6, 9}, false);
  Floats y(40 * 9, 9.0f);
  Gradients gradients(call.shape);
  expect_status_at_every_request(
      [&](ThreadPool& pool) { return linear(pool, call.shape, {call.x.data()}, call.weights(), {y.data()}); },
      [&] { EXPECT_EQ(y, Floats(40 * 9, 9.0f)); });
  expect_status_at_every_request(
      [&](ThreadPool& pool) {
        return linear_backward(pool, call.shape, {call.x.data()}, call.weights(), {call.dy.data()}, gradients.view());
      },
      [&] { EXPECT_EQ(gradients, Gradients(call.shape)); });
  call.quantise();
  std::fill(y.begin(), y.end(), 9.0f);
  expect_status_at_every_request(
      [&](ThreadPool& pool) { return linear(pool, call.shape, {call.x.data()}, call.weights(), {y.data()}); },
      [&] { EXPECT_EQ(y, Floats(40 * 9, 9.0f)); }, 4);
}

}  // namespace headwise::test_linear
