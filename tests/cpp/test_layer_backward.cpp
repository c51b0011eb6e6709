// The gradient of a layer, against finite differences of the layer in double.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "base/numbers.h"
#include "harness.h"
#include "headwise/layer.h"
#include "layer_model.h"
#include "refusals.h"
#include "tolerance.h"

namespace headwise::layers::test_layer_backward {

using Doubles = std::vector<double>;

Doubles widened(const Floats& values) { return {values.begin(), values.end()}; }

/// A layer and one call of it: everything that has a gradient.
struct Trained {
  Model m;
  Weights weights;
  Call call;
  Floats query_gain, key_gain, table, dy;
  bool causal = false;

  Trained(const Model& model, std::int64_t batch_size, std::int64_t length)
      : m(model),
        weights(model),
        call(self_call(model, batch_size, length)),
        dy(random_floats(batch_size * length * model.shape.output_dim, 200)) {}

  [[nodiscard]] std::unique_ptr<Layer> layer() {
    m.options.query_gain = query_gain.empty() ? nullptr : query_gain.data();
    m.options.key_gain = key_gain.empty() ? nullptr : key_gain.data();
    m.options.position_table = table.empty() ? nullptr : table.data();
    m.options.position_rows = static_cast<std::int64_t>(table.size()) / m.shape.input_dim;
    call.attention.causal = causal ? Causal::lower_right : Causal::none;
    return build(m, weights);
  }
};

/// A list of numbers for everything that has a gradient.
template <class Numbers>
struct OfEverything {
  Numbers x, key_context, value_context, wq, bq, wk, bk, wv, bv, wo, bo, query_gain, key_gain, table;

  /// @param make  gives the list for the values of a parameter
  template <class Make>
  OfEverything(const Trained& s, const Make& make)
      : x(make(s.call.x)),
        key_context(make(s.call.key_context)),
        value_context(make(s.call.value_context)),
        wq(make(s.weights.wq)),
        bq(make(s.weights.bq)),
        wk(make(s.weights.wk)),
        bk(make(s.weights.bk)),
        wv(make(s.weights.wv)),
        bv(make(s.weights.bv)),
        wo(make(s.weights.wo)),
        bo(make(s.weights.bo)),
        query_gain(make(s.query_gain)),
        key_gain(make(s.key_gain)),
        table(make(s.table)) {}
  bool operator==(const OfEverything&) const = default;
};

/// The values of everything, in double.
struct Parameters : OfEverything<Doubles> {
  explicit Parameters(const Trained& s) : OfEverything(s, widened) {}
};

using Rows = std::vector<Doubles>;

Doubles project(const Doubles& x, const Doubles& w, const Doubles& b, std::int64_t out) {
  Doubles y(static_cast<std::size_t>(out), 0.0);
  for (std::int64_t o = 0; o < out; ++o) {
    if (!b.empty()) y[o] = b[o];
    for (std::size_t i = 0; i < x.size(); ++i) y[o] += x[i] * w[i * out + o];
  }
  return y;
}

void normalise(double* head, std::int64_t width, const LayerOptions& options, const Doubles& gain) {
  if (options.qk_norm == QkNorm::none) return;
  const double epsilon = options.qk_norm_epsilon;
  double squares = 0;
  for (std::int64_t d = 0; d < width; ++d) squares += head[d] * head[d];
  const double size = options.qk_norm == QkNorm::rms ? std::sqrt(squares / static_cast<double>(width) + epsilon)
                                                     : std::max(std::sqrt(squares), epsilon);
  for (std::int64_t d = 0; d < width; ++d) head[d] *= (gain.empty() ? 1.0 : gain[d]) / size;
}

void turn(double* head, std::int64_t width, const RotaryOptions& options, double position) {
  const std::int64_t rotary = options.rotary_dim ? options.rotary_dim : width, half = rotary / 2;
  for (std::int64_t p = 0; p < half; ++p) {
    const double angle = position * std::pow(options.base, -2.0 * static_cast<double>(p) / static_cast<double>(rotary));
    const std::int64_t i = options.interleaved ? 2 * p : p, j = options.interleaved ? 2 * p + 1 : p + half;
    const double a = head[i], b = head[j];
    head[i] = a * std::cos(angle) - b * std::sin(angle);
    head[j] = a * std::sin(angle) + b * std::cos(angle);
  }
}

/// The sum of dY * Y of batch b.
double loss_of_batch(const Trained& s, const Parameters& p, std::int64_t b) {
  const LayerShape& shape = s.m.shape;
  const std::int64_t length = s.call.query_length;
  const std::int64_t keys = p.key_context.empty() && p.value_context.empty() ? length : s.call.key_length;
  const auto token = [&](const Doubles& from, std::int64_t width, std::int64_t rows, std::int64_t i) {
    return Doubles(from.begin() + (b * rows + i) * width, from.begin() + (b * rows + i + 1) * width);
  };
  const auto x = [&](std::int64_t i) {
    Doubles row = token(p.x, shape.input_dim, length, i);
    for (std::size_t d = 0; !p.table.empty() && d < row.size(); ++d) row[d] += p.table[i * shape.input_dim + d];
    return row;
  };
  const auto key_row = [&](std::int64_t j) {
    return p.key_context.empty() ? x(j) : token(p.key_context, shape.key_input_dim, keys, j);
  };
  const auto heads_of = [&](Doubles row, std::int64_t heads, const Doubles& gain, std::int64_t position) {
    for (std::int64_t h = 0; h < heads; ++h) {
      normalise(row.data() + h * shape.head_dim, shape.head_dim, s.m.options, gain);
      if (s.m.options.position == LayerPosition::rotary)
        turn(row.data() + h * shape.head_dim, shape.head_dim, s.m.options.rotary, static_cast<double>(position));
    }
    return row;
  };
  Rows q, k, v;
  for (std::int64_t i = 0; i < length; ++i)
    q.push_back(heads_of(project(x(i), p.wq, p.bq, s.m.query_width()), shape.num_heads, p.query_gain, i));
  for (std::int64_t j = 0; j < keys; ++j) {
    k.push_back(heads_of(project(key_row(j), p.wk, p.bk, s.m.key_width()), shape.num_kv_heads, p.key_gain, j));
    const Doubles row = p.value_context.empty() ? key_row(j) : token(p.value_context, shape.value_input_dim, keys, j);
    v.push_back(project(row, p.wv, p.bv, s.m.value_width()));
  }
  double loss = 0;
  const std::int64_t dv = shape.value_head_dim;
  for (std::int64_t i = 0; i < length; ++i) {
    Doubles heads(static_cast<std::size_t>(s.m.heads_width()), 0.0);
    for (std::int64_t h = 0; h < shape.num_heads; ++h) {
      const std::int64_t g = h / (shape.num_heads / shape.num_kv_heads);
      double total = 0;
      for (std::int64_t j = 0; j < keys && !(s.causal && j > i + keys - length); ++j) {
        double score = 0;
        for (std::int64_t d = 0; d < shape.head_dim; ++d)
          score += q[i][h * shape.head_dim + d] * k[j][g * shape.head_dim + d];
        const double weight = std::exp(score / std::sqrt(static_cast<double>(shape.head_dim)));
        total += weight;
        for (std::int64_t d = 0; d < dv; ++d) heads[h * dv + d] += weight * v[j][g * dv + d];
      }
      for (std::int64_t d = 0; d < dv; ++d) heads[h * dv + d] /= total;
    }
    const Doubles y = shape.output_projection ? project(heads, p.wo, p.bo, shape.output_dim) : heads;
    for (std::int64_t o = 0; o < shape.output_dim; ++o) loss += y[o] * s.dy[(b * length + i) * shape.output_dim + o];
  }
  return loss;
}

double loss(const Trained& s, const Parameters& p) {
  double sum = 0;
  for (std::int64_t b = 0; b < s.call.batch_size; ++b) sum += loss_of_batch(s, p, b);
  return sum;
}

/// Float32 gradients, which a call overwrites.
struct Gradients : OfEverything<Floats> {
  explicit Gradients(const Trained& s)
      : OfEverything(s, [](const Floats& values) { return Floats(values.size(), 9.0f); }) {}

  [[nodiscard]] LayerGradients view(const Trained& s) {
    const auto at = [](Floats& values) { return values.empty() ? nullptr : values.data(); };
    LayerGradients view;
    view.input = at(x);
    view.key_context = at(key_context);
    view.value_context = at(value_context);
    view.query_weights = {at(wq), s.m.query_width(), 1, at(bq)};
    view.key_weights = {at(wk), s.m.key_width(), 1, at(bk)};
    view.value_weights = {at(wv), s.m.value_width(), 1, at(bv)};
    view.output_weights = {at(wo), s.m.shape.output_dim, 1, at(bo)};
    view.query_gain = at(query_gain);
    view.key_gain = at(key_gain);
    view.position_table = at(table);
    return view;
  }
};

std::unique_ptr<SavedForward> saved_of(const Layer& layer, const Call& call, Floats& y, int threads = 1) {
  y.assign(static_cast<std::size_t>(call.batch_size * call.query_length * layer.shape().output_dim), 9.0f);
  std::unique_ptr<SavedForward> saved;
  const Status status = layer.forward(pool_of(threads), inputs_of(call), call.masks, call.attention, into(y), &saved);
  EXPECT_TRUE(status.ok()) << status.message().text;
  return saved;
}

Gradients gradients_of(Trained& s, int threads = 1) {
  const auto layer = s.layer();
  Floats y;
  const auto saved = saved_of(*layer, s.call, y, threads);
  Gradients gradients(s);
  const Status status = layer->backward(pool_of(threads), *saved, {{s.dy.data()}}, gradients.view(s));
  EXPECT_TRUE(status.ok()) << status.message().text;
  return gradients;
}

/// Six products follow one another, of which each rounds (4 + K/4) times for sums of K <= 64 terms. Norm and softmax
/// amplify at most four times.
constexpr double kTolerance = 6 * (4 + 64.0 / 4) * 4 * tolerance::kEpsilon;

/// Compares a gradient with central differences of the loss in double. Their own error is below 1e-8.
void expect_differences(const Trained& s, const char* name, const Floats& got, Doubles Parameters::*member) {
  Parameters p(s);
  ASSERT_EQ((p.*member).size(), got.size()) << name;
  double largest = 1;
  Doubles expected;
  for (double& value : p.*member) {
    constexpr double kStep = 1e-5;
    const double before = value;
    value = before + kStep;
    const double above = loss(s, p);
    value = before - kStep;
    const double below = loss(s, p);
    value = before;
    expected.push_back((above - below) / (2 * kStep));
    largest = std::max(largest, std::abs(expected.back()));
  }
  for (std::size_t i = 0; i < got.size(); ++i)
    ASSERT_NEAR(got[i], expected[i], kTolerance * largest + 1e-8) << name << "[" << i << "]";
}

void expect_gradients(const Trained& s, const Gradients& g) {
  expect_differences(s, "x", g.x, &Parameters::x);
  expect_differences(s, "key context", g.key_context, &Parameters::key_context);
  expect_differences(s, "value context", g.value_context, &Parameters::value_context);
  expect_differences(s, "Wq", g.wq, &Parameters::wq);
  expect_differences(s, "bq", g.bq, &Parameters::bq);
  expect_differences(s, "Wk", g.wk, &Parameters::wk);
  expect_differences(s, "bk", g.bk, &Parameters::bk);
  expect_differences(s, "Wv", g.wv, &Parameters::wv);
  expect_differences(s, "bv", g.bv, &Parameters::bv);
  expect_differences(s, "Wo", g.wo, &Parameters::wo);
  expect_differences(s, "bo", g.bo, &Parameters::bo);
  expect_differences(s, "query gain", g.query_gain, &Parameters::query_gain);
  expect_differences(s, "key gain", g.key_gain, &Parameters::key_gain);
  expect_differences(s, "table", g.table, &Parameters::table);
}

void expect_gradients(Trained s) { expect_gradients(s, gradients_of(s)); }

TEST(LayerGradient, OfSelfAttentionEqualsFiniteDifferences) {
  Trained s(model(6, 2, 4, 5), 2, 5);
  expect_gradients(s);
  s.causal = true;
  expect_gradients(s);
}

TEST(LayerGradient, OfGroupedHeadsWithValuesOfTheirOwnWidth) {
  Model m = model(6, 4, 4, 5);
  m.shape.num_kv_heads = 2;
  m.shape.value_head_dim = 3;
  expect_gradients(Trained(m, 1, 6));
}

TEST(LayerGradient, WithoutBiasesAndWithoutOutputProjection) {
  Model m = model(6, 2, 4, 8);
  m.biases = false;
  m.shape.output_projection = false;
  expect_gradients(Trained(m, 2, 5));
}

TEST(LayerGradient, OfContexts) {
  Model m = model(6, 2, 4, 5);
  m.shape.key_input_dim = 7;
  m.shape.value_input_dim = 7;
  Trained s(m, 2, 3);
  s.call.key_length = 5;
  s.call.key_context = random_floats(2 * 5 * 7, 50);
  expect_gradients(s);  // with the part of the values
  s.call.value_context = random_floats(2 * 5 * 7, 51);
  expect_gradients(s);
}

TEST(LayerGradient, OfAValueContextAlone) {
  Trained s(model(6, 2, 4, 5), 1, 4);
  s.call.key_length = 4;
  s.call.value_context = random_floats(4 * 6, 51);
  expect_gradients(s);
}

TEST(LayerGradient, OfNormsAndRotaryEmbedding) {
  for (const QkNorm norm : {QkNorm::none, QkNorm::rms, QkNorm::l2})
    for (const bool rotary : {false, true}) {
      Model m = model(6, 4, 4, 5);
      m.shape.num_kv_heads = 2;
      m.options.qk_norm = norm;
      if (rotary) m.options.position = LayerPosition::rotary;
      Trained s(m, 2, 4);
      expect_gradients(s);
      m.options.rotary.interleaved = true;
      m.options.rotary.rotary_dim = 2;
      Trained gains(m, 1, 4);
      if (norm != QkNorm::none) {
        gains.query_gain = random_floats(4, 60);
        gains.key_gain = random_floats(4, 61);
      }
      expect_gradients(gains);
    }
}

TEST(LayerGradient, OfATableOfPositions) {
  Model m = model(6, 2, 4, 5);
  m.options.position = LayerPosition::table;
  Trained s(m, 3, 4);
  s.table = random_floats(7 * 6, 70);  // rows 4, 5 and 6 get no gradient
  const Gradients gradients = gradients_of(s);
  expect_gradients(s, gradients);
  EXPECT_EQ(Floats(gradients.table.begin() + 24, gradients.table.end()), Floats(18, 0.0f));
}

TEST(LayerGradient, OfATableAloneNeedsNoGradientOfX) {
  Model m = model(6, 2, 4, 5);
  m.options.position = LayerPosition::table;
  Trained s(m, 3, 4);
  s.table = random_floats(4 * 6, 70);
  const Floats expected = gradients_of(s).table;
  const auto layer = s.layer();
  Floats y, table(24, 9.0f);
  const auto saved = saved_of(*layer, s.call, y);
  LayerGradients view;
  view.position_table = table.data();
  ASSERT_TRUE(layer->backward(pool_of(1), *saved, {{s.dy.data()}}, view).ok());
  EXPECT_EQ(table, expected);
}

/// [B, S, W] to [B, W, S]
Floats columns_of(const Floats& rows, std::int64_t batch_size, std::int64_t length) {
  Floats columns(rows.size());
  const auto width = static_cast<std::int64_t>(rows.size()) / (batch_size * length);
  for (std::int64_t b = 0; b < batch_size; ++b)
    for (std::int64_t t = 0; t < length; ++t)
      for (std::int64_t f = 0; f < width; ++f)
        columns[(b * width + f) * length + t] = rows[(b * length + t) * width + f];
  return columns;
}

TEST(LayerGradient, IsTheSameOnColumns) {
  for (const bool output_projection : {true, false}) {
    Model m = model(6, 2, 4, 8);
    m.shape.output_projection = output_projection;
    m.options.qk_norm = QkNorm::rms;
    m.options.position = LayerPosition::rotary;
    Trained rows(m, 2, 5), columns = rows;
    columns.call.layout = Layout::bes;
    columns.call.x = columns_of(rows.call.x, 2, 5);
    columns.dy = columns_of(rows.dy, 2, 5);
    const Gradients expected = gradients_of(rows), got = gradients_of(columns);
    const auto expect_near = [](const Floats& a, const Floats& b) {
      ASSERT_EQ(a.size(), b.size());
      for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 2 * kTolerance);
    };
    expect_near(got.x, columns_of(expected.x, 2, 5));
    expect_near(got.wq, expected.wq);
    expect_near(got.wk, expected.wk);
    expect_near(got.wv, expected.wv);
    expect_near(got.wo, expected.wo);
    expect_near(got.bk, expected.bk);
  }
}

TEST(LayerGradient, TakesFloat16) {
  Trained s(model(6, 2, 4, 5), 2, 5);
  const auto narrowed = [](Floats& values) {
    std::vector<std::uint16_t> half(values.size());
    floats_to_halves(values.data(), static_cast<std::int64_t>(half.size()), half.data());
    halves_to_floats(half.data(), static_cast<std::int64_t>(half.size()), values.data());
    return half;
  };
  const auto x = narrowed(s.call.x), dy = narrowed(s.dy);
  const Gradients expected = gradients_of(s);
  const auto layer = s.layer();
  LayerInputs inputs;
  inputs.batch_size = 2;
  inputs.query_length = 5;
  inputs.x = {x.data(), Dtype::float16};
  std::unique_ptr<SavedForward> saved;
  ASSERT_TRUE(layer->forward(pool_of(1), inputs, {}, {}, {}, &saved).ok());  // and Y is not asked for
  Gradients gradients(s);
  ASSERT_TRUE(layer->backward(pool_of(1), *saved, {{dy.data(), Dtype::float16}}, gradients.view(s)).ok());
  EXPECT_EQ(gradients, expected);
}

TEST(LayerGradient, TheSavedCallGivesTheBitsOfAnyOther) {
  Model m = model(24, 4, 8, 32);
  for (const bool output_projection : {true, false}) {
    m.shape.output_projection = output_projection;
    m.options.qk_norm = QkNorm::rms;
    m.options.position = LayerPosition::rotary;
    Trained s(m, 2, 40);
    const auto layer = s.layer();
    Floats y;
    const auto saved = saved_of(*layer, s.call, y);
    EXPECT_EQ(y, output_of(*layer, s.call));
    EXPECT_GT(saved->bytes(), 0);
  }
}

TEST(LayerGradientBits, DoNotDependOnThreads) {
  Model m = model(70, 4, 24, 50);
  m.shape.num_kv_heads = 2;
  m.options.position = LayerPosition::rotary;
  m.options.qk_norm = QkNorm::rms;
  Trained s(m, 2, 300);
  s.query_gain = random_floats(24, 60);
  s.key_gain = random_floats(24, 61);
  const Gradients one = gradients_of(s);
  for (const int threads : {2, 4}) EXPECT_EQ(gradients_of(s, threads), one) << threads;
}

TEST(LayerGradientBits, HoldOnEveryKernelOfThisMachine) {
  Model m = model(6, 2, 4, 5);
  m.options.qk_norm = QkNorm::l2;
  for (const KernelTable* table : kernel_tables()) {
    const UsingKernels using_kernels(*table);
    SCOPED_TRACE(table->name);
    expect_gradients(Trained(m, 1, 4));
  }
}

TEST(LayerGradientBits, ATokenThatIsHiddenEverywhereMayHoldNaN) {
  for (const QkNorm norm : {QkNorm::none, QkNorm::rms}) {
    Model m = model(6, 2, 4, 5);
    m.options.qk_norm = norm;
    m.options.position = LayerPosition::rotary;
    Trained s(m, 1, 6);
    const std::int32_t lengths[] = {4};
    s.call.attention.key_lengths = lengths;
    s.call.attention.query_lengths = lengths;
    std::fill(s.dy.begin() + 4 * 5, s.dy.end(), 0.0f);
    const Gradients clean = gradients_of(s);
    std::fill(s.call.x.begin() + 4 * 6, s.call.x.end(), std::numeric_limits<float>::quiet_NaN());
    EXPECT_EQ(gradients_of(s), clean);
    EXPECT_EQ(Floats(clean.x.begin() + 24, clean.x.end()), Floats(12, 0.0f));
  }
}

TEST(LayerGradient, OfWeightsThatAreKeptInFewerBytesIsThatOfTheRoundedWeights) {
  for (const Dtype dtype : {Dtype::float16, Dtype::bfloat16, Dtype::int8}) {
    Model m = model(12, 2, 4, 5);
    m.options.weight_dtype = dtype;
    Trained s(m, 2, 9), rounded(m, 2, 9);
    rounded.m.options.weight_dtype = Dtype::float32;
    rounded.weights = kept(m, s.weights);
    const Gradients found = gradients_of(s), expected = gradients_of(rounded);
    if (dtype != Dtype::int8) {
      EXPECT_EQ(found, expected);
    }
    // The outputs of the heads differ in a few last bits, since sums are scaled.
    for (std::size_t i = 0; i < found.x.size(); ++i) EXPECT_NEAR(found.x[i], expected.x[i], 1e-5);
    for (std::size_t i = 0; i < found.wq.size(); ++i) EXPECT_NEAR(found.wq[i], expected.wq[i], 1e-5);
  }
}

TEST(LayerUpdate, RoundsTheNewWeightsToTheDtypeOfTheLayer) {
  for (const Dtype dtype : {Dtype::float16, Dtype::bfloat16, Dtype::int8}) {
    Model m = model(20, 2, 8, 12);
    m.options.weight_dtype = dtype;
    Trained before(m, 2, 5), after(m, 2, 5);
    Model other = m;
    other.seed = 40;
    after.weights = Weights(other);
    const auto updated = before.layer(), made = after.layer();
    LayerUpdate update;
    update.weights = after.weights.view(m);
    ASSERT_TRUE(updated->update(update).ok());
    EXPECT_EQ(output_of(*updated, after.call), output_of(*made, after.call));
  }
}

TEST(LayerUpdate, GivesTheBitsOfANewLayer) {
  Model m = model(20, 2, 8, 12);
  m.options.qk_norm = QkNorm::rms;
  m.options.position = LayerPosition::table;
  Trained before(m, 2, 5), after(m, 2, 5);
  for (Trained* s : {&before, &after}) {
    s->query_gain = random_floats(8, s == &before ? 60 : 62);
    s->key_gain = random_floats(8, s == &before ? 61 : 63);
    s->table = random_floats(5 * 20, s == &before ? 70 : 71);
  }
  Model other = m;
  other.seed = 40;
  after.weights = Weights(other);
  const auto updated = before.layer(), made = after.layer();
  LayerUpdate update;
  update.weights = after.weights.view(m);
  update.query_gain = after.query_gain.data();
  update.key_gain = after.key_gain.data();
  update.position_table = after.table.data();
  ASSERT_TRUE(updated->update(update).ok());
  EXPECT_EQ(output_of(*updated, after.call), output_of(*made, after.call));
  ASSERT_TRUE(updated->update({}).ok());  // what is null stays
  EXPECT_EQ(output_of(*updated, after.call), output_of(*made, after.call));
}

TEST(LayerUpdate, RefusesWhatTheLayerWasMadeWithout) {
  Trained s(model(6, 2, 4, 5), 1, 4);
  const auto layer = s.layer();
  const Floats values = random_floats(24, 1);
  for (const float* LayerUpdate::*member :
       {&LayerUpdate::query_gain, &LayerUpdate::key_gain, &LayerUpdate::position_table}) {
    LayerUpdate update;
    update.*member = values.data();
    EXPECT_EQ(layer->update(update).code, StatusCode::invalid_option);
  }
}

TEST(LayerGradientRules, AreAStatus) {
  Trained s(model(6, 2, 4, 5), 1, 4);
  const auto layer = s.layer(), other = s.layer();
  Floats y, some(100, 9.0f);
  const auto saved = saved_of(*layer, s.call, y);
  const auto code = [&](const Layer& of, const LayerGradients& gradients, Dtype dtype = Dtype::float32) {
    return of.backward(pool_of(1), *saved, {{s.dy.data(), dtype}}, gradients).code;
  };
  LayerGradients gain, table, context;
  gain.query_gain = table.position_table = context.key_context = some.data();
  EXPECT_EQ(code(*other, {}), StatusCode::invalid_option);
  EXPECT_EQ(code(*layer, gain), StatusCode::invalid_option);
  EXPECT_EQ(code(*layer, table), StatusCode::invalid_option);
  EXPECT_EQ(code(*layer, context), StatusCode::invalid_option);
  for (const Dtype dtype : {Dtype::int8, Dtype::bfloat16}) EXPECT_EQ(code(*layer, {}, dtype), StatusCode::unsupported);
  EXPECT_EQ(code(*layer, {}), StatusCode::ok);
  EXPECT_EQ(some, Floats(100, 9.0f));
}

TEST(LayerGradientRules, ACallWithACacheIsNotSaved) {
  const Model m = model(6, 2, 4, 5);
  const auto layer = build(m);
  const auto cache = cache_for(m, 1);
  const Call call = self_call(m, 1, 4);
  LayerInputs inputs;
  inputs.query_length = 4;
  inputs.x.data = call.x.data();
  inputs.cache = cache.get();
  Floats y(20, 9.0f);
  std::unique_ptr<SavedForward> saved;
  EXPECT_EQ(layer->forward(pool_of(1), inputs, {}, {}, into(y), &saved).code, StatusCode::unsupported);
  EXPECT_EQ(saved, nullptr);
  EXPECT_EQ(cache->appended(0), 0);
  EXPECT_EQ(y, Floats(20, 9.0f));
}

TEST(LayerGradientMemory, ThatIsNotToBeHadIsAStatusAndWritesNothing) {
  Model m = model(6, 2, 4, 5);
  m.options.qk_norm = QkNorm::rms;
  Trained s(m, 2, 5);
  s.query_gain = random_floats(4, 60);
  s.key_gain = random_floats(4, 61);
  const auto layer = s.layer();
  Floats y;
  const auto saved = saved_of(*layer, s.call, y);
  Gradients gradients(s);
  const Gradients untouched(s);
  const auto attempt = [&] { return layer->backward(pool_of(2), *saved, {{s.dy.data()}}, gradients.view(s)); };
  EXPECT_GT(refuse_each_request(attempt, [&] { EXPECT_EQ(gradients, untouched); }), 10);
}

}  // namespace headwise::layers::test_layer_backward
