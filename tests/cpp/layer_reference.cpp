#include "layer_reference.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tolerance.h"

namespace headwise::layers {

namespace {

using tolerance::kEpsilon;

/// sum_k a(k) w(k) + bias, by the error model of the contract: c = 4 + K/4 roundings of the sum of magnitudes.
template <class A>
Bounded dot(std::int64_t count, A a, const float* w, std::int64_t stride, double bias) {
  Bounded sum{bias, 0};
  double magnitude = std::abs(bias);
  for (std::int64_t k = 0; k < count; ++k) {
    const Bounded x = a(k);
    sum.value += x.value * w[k * stride];
    sum.error += x.error * std::abs(w[k * stride]);
    magnitude += std::abs(x.value * w[k * stride]);
  }
  sum.error += (4.0 + static_cast<double>(count) / 4.0) * kEpsilon * magnitude;
  return sum;
}

Row project(const Row& x, const Floats& w, const Floats& b) {
  const std::int64_t in = static_cast<std::int64_t>(x.size()), out = static_cast<std::int64_t>(w.size()) / in;
  Row y(static_cast<std::size_t>(out));
  for (std::int64_t o = 0; o < out; ++o)
    y[o] = dot(
        in, [&](std::int64_t k) { return x[k]; }, w.data() + o, out, b.empty() ? 0.0 : b[o]);
  return y;
}

void normalise(Bounded* head, std::int64_t width, const LayerOptions& options, const float* gain) {
  double squares = 0, errors = 0;
  for (std::int64_t d = 0; d < width; ++d) {
    squares += head[d].value * head[d].value;
    errors += head[d].error * head[d].error;
  }
  const bool rms = options.qk_norm == QkNorm::rms;
  const double size = rms ? std::sqrt(squares / width + options.qk_norm_epsilon)
                          : std::max<double>(std::sqrt(squares), options.qk_norm_epsilon);
  const double size_error =
      rms ? std::sqrt(errors / width) : std::sqrt(errors);  // a norm moves no more than its vector
  for (std::int64_t d = 0; d < width; ++d) {
    const double g = gain ? gain[d] : 1.0, y = head[d].value / size * g;
    // the factor 1 / size, the product and the gain round once each
    head[d] = {
        y, (head[d].error * std::abs(g) + std::abs(y) * size_error) / (size - size_error) + 4 * kEpsilon * std::abs(y)};
  }
}

void turn(Bounded* head, std::int64_t width, const RotaryOptions& options, double position) {
  std::vector<double> theta(static_cast<std::size_t>(width));
  double amplitude = 1;
  ASSERT_TRUE(rotary_frequencies(options, width, theta.data(), &amplitude).ok());
  const std::int64_t half = (options.rotary_dim ? options.rotary_dim : width) / 2;
  for (std::int64_t m = 0; m < half; ++m) {
    Bounded& first = head[options.interleaved ? 2 * m : m];
    Bounded& second = head[options.interleaved ? 2 * m + 1 : m + half];
    const Bounded a = first, b = second;
    const double c = amplitude * std::cos(position * theta[m]), s = amplitude * std::sin(position * theta[m]);
    // cos and sin, two products and a sum round
    const double rounding = 3 * kEpsilon * (std::abs(a.value) + std::abs(b.value)) * amplitude;
    first = {a.value * c - b.value * s, a.error * std::abs(c) + b.error * std::abs(s) + rounding};
    second = {a.value * s + b.value * c, a.error * std::abs(s) + b.error * std::abs(c) + rounding};
  }
}

std::vector<Row> project_all(const Model& m, const std::vector<ReferenceToken>& tokens, const Floats& w,
                             const Floats& b, std::int64_t heads, const float* gain, double sequence_length,
                             bool is_value) {
  RotaryOptions rotary = m.options.rotary;
  if (rotary.sequence_length == 0) rotary.sequence_length = sequence_length;
  std::vector<Row> rows;
  for (const ReferenceToken& token : tokens) {
    Row row = project(token.row, w, b);
    for (std::int64_t h = 0; h < heads && !is_value; ++h) {
      Bounded* head = row.data() + h * m.shape.head_dim;
      if (m.options.qk_norm != QkNorm::none) normalise(head, m.shape.head_dim, m.options, gain);
      if (m.options.position == LayerPosition::rotary) turn(head, m.shape.head_dim, rotary, token.position);
    }
    rows.push_back(row);
  }
  return rows;
}

/// One head of one query row, by the contract's bounds: |do| <= (2 max |ds| + 16 eps) sum p |v| + sum p |dv|.
void attend(const Model& m, const Bounded* q, const std::vector<Row>& keys, const std::vector<Row>& values,
            std::int64_t kv_head, const std::function<bool(std::int64_t)>& hidden, Bounded* out) {
  const double scale = 1.0 / std::sqrt(static_cast<double>(m.shape.head_dim));
  std::vector<double> p(keys.size(), 0.0);
  double total = 0, score_error = 0;
  for (std::size_t j = 0; j < keys.size(); ++j) {
    if (hidden(static_cast<std::int64_t>(j))) continue;
    const Bounded* k = keys[j].data() + kv_head * m.shape.head_dim;
    double s = 0, error = 0, magnitude = 0;
    for (std::int64_t d = 0; d < m.shape.head_dim; ++d) {
      s += q[d].value * k[d].value;
      magnitude += std::abs(q[d].value * k[d].value);
      error += q[d].error * std::abs(k[d].value) + std::abs(q[d].value) * k[d].error + q[d].error * k[d].error;
    }
    score_error = std::max(score_error, scale * (error + (4.0 + m.shape.head_dim / 4.0) * kEpsilon * magnitude));
    total += p[j] = std::exp(s * scale);
  }
  for (std::int64_t d = 0; d < m.shape.value_head_dim; ++d) {
    double o = 0, magnitude = 0, error = 0;
    for (std::size_t j = 0; j < keys.size(); ++j) {
      const Bounded v = values[j][kv_head * m.shape.value_head_dim + d];
      o += p[j] * v.value;
      magnitude += p[j] * std::abs(v.value);
      error += p[j] * v.error;
    }
    out[d] =
        total == 0 ? Bounded{} : Bounded{o / total, ((2 * score_error + 16 * kEpsilon) * magnitude + error) / total};
  }
}

}  // namespace

Row exact_row(const float* x, std::int64_t width, std::int64_t stride) {
  Row row(static_cast<std::size_t>(width));
  for (std::int64_t d = 0; d < width; ++d) row[d].value = x[d * stride];
  return row;
}

Row placed(Row row, const Model& m, double position) {
  if (m.options.position != LayerPosition::table) return row;
  const float* table = m.options.position_table + static_cast<std::int64_t>(position) * m.shape.input_dim;
  for (std::size_t d = 0; d < row.size(); ++d) {
    row[d].value += table[d];
    row[d].error += kEpsilon * std::abs(row[d].value);
  }
  return row;
}

std::vector<Row> reference(const Model& m, const Weights& w, const ReferenceSequence& sequence) {
  const LayerShape& s = m.shape;
  const LayerOptions& o = m.options;
  const auto q =
      project_all(m, sequence.queries, w.wq, w.bq, s.num_heads, o.query_gain, sequence.sequence_length, false);
  const auto k = project_all(m, sequence.keys, w.wk, w.bk, s.num_kv_heads, o.key_gain, sequence.sequence_length, false);
  const auto v = project_all(m, sequence.values, w.wv, w.bv, s.num_kv_heads, nullptr, sequence.sequence_length, true);
  std::vector<Row> y;
  for (std::size_t i = 0; i < q.size(); ++i) {
    Row heads(static_cast<std::size_t>(m.heads_width()));
    for (std::int64_t h = 0; h < s.num_heads; ++h)
      attend(
          m, q[i].data() + h * s.head_dim, k, v, h / (s.num_heads / s.num_kv_heads),
          [&](std::int64_t j) { return sequence.hidden(static_cast<std::int64_t>(i), j); },
          heads.data() + h * s.value_head_dim);
    y.push_back(s.output_projection ? project(heads, w.wo, w.bo) : heads);
  }
  return y;
}

std::vector<ReferenceToken> tokens_of(const Model& m, const Call& call, std::int64_t b, std::int64_t from,
                                      std::int64_t to, double first) {
  std::vector<ReferenceToken> tokens;
  for (std::int64_t s = from; s < to; ++s) {
    const double position = first + static_cast<double>(s - from);
    const float* x = call.x.data() + (b * call.query_length + s) * m.shape.input_dim;
    tokens.push_back({position, placed(exact_row(x, m.shape.input_dim), m, position)});
  }
  return tokens;
}

ReferenceSequence self_sequence(const Model& m, const Call& call, std::int64_t b, bool causal) {
  ReferenceSequence sequence;
  sequence.queries = sequence.keys = sequence.values = tokens_of(m, call, b, 0, call.query_length, 0);
  sequence.sequence_length = static_cast<double>(call.query_length);
  if (causal) sequence.hidden = [](std::int64_t i, std::int64_t j) { return j > i; };
  return sequence;
}

}  // namespace headwise::layers
