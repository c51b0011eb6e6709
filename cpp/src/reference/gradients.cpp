#include "reference/gradients.h"

#include <cmath>
#include <limits>
#include <numeric>

namespace headwise::reference {
namespace {

double gain_of(const AttentionOptions& options, std::int64_t h) {
  return options.head_gain ? options.head_gain[h] : 1.0;
}

/// What one head of one batch reads.
struct HeadInputs {
  std::int64_t b, h;
  double gain;
  Matrix query, key, value, output_gradient;
  const float* lse_gradient;  ///< of its rows; null: 0
};

HeadInputs read_inputs(const AttentionShape& s, const BackwardInputs& inputs, const AttentionOptions& options,
                       std::int64_t b, std::int64_t h) {
  const std::int64_t g = h / (s.num_heads / s.num_kv_heads);
  const Layout layout = options.layout, kv_layout = options.kv_layout.value_or(layout);
  const AttentionInputs& from = inputs.forward;
  return {b,
          h,
          gain_of(options, h),
          read_head(from.query, layout, s.num_heads, s.query_length, s.head_dim, b, h),
          read_head(from.key, kv_layout, s.num_kv_heads, s.key_length, s.head_dim, b, g),
          read_head(from.value, kv_layout, s.num_kv_heads, s.key_length, s.value_dim, b, g),
          read_head(inputs.output_gradient, layout, s.num_heads, s.query_length, s.value_dim, b, h),
          inputs.lse_gradient ? inputs.lse_gradient + (b * s.num_heads + h) * s.query_length : nullptr};
}

template <class Visit>
void for_each_visible_pair(const Head& head, Visit visit) {
  for (std::int64_t i = 0; i < head.raw.rows(); ++i)
    for (std::int64_t j = 0; j < head.raw.cols(); ++j)
      if (head.rows[i] == RowKind::attends && head.visible(i, j)) visit(i, j);
}

/// p, do . v and delta.
void compute_softmax_gradient(const Head& head, const HeadInputs& in, HeadGradients& at) {
  const Matrix zero = Matrix::Zero(head.raw.rows(), head.raw.cols());
  at.weights = at.products = at.formula = zero;
  at.deltas = Vector::Zero(head.raw.rows());
  for_each_visible_pair(head, [&](std::int64_t i, std::int64_t j) {
    at.weights(i, j) = head.probs(i, j);
    if (head.kept(i, j) > 0) at.products(i, j) = head.kept(i, j) * in.output_gradient.row(i).dot(in.value.row(j));
    at.deltas(i) += in.gain * at.weights(i, j) * at.products(i, j);
  });
  for (std::int64_t i = 0; in.lse_gradient && i < head.raw.rows(); ++i)
    if (head.rows[i] == RowKind::attends) at.deltas(i) -= in.lse_gradient[i];
  for_each_visible_pair(head, [&](std::int64_t i, std::int64_t j) {
    at.formula(i, j) = at.weights(i, j) * (in.gain * at.products(i, j) - at.deltas(i));
  });
}

/// From the last stage of scores to the first.
void differentiate_stages(const Head& head, const ScoreDerivative* derivative, double softcap, HeadGradients& at) {
  at.slopes = at.bends = Matrix::Ones(head.raw.rows(), head.raw.cols());
  for_each_visible_pair(head, [&](std::int64_t i, std::int64_t j) {
    if (derivative)
      at.slopes(i, j) = evaluate(derivative->formula, derivative->formula.result, head.pair(i, j, 0)).value;
    if (softcap > 0) at.bends(i, j) = 1 - std::pow(head.softcapped(i, j) / softcap, 2);
  });
  at.biased = at.formula.cwiseProduct(at.slopes);
  at.raw = at.biased.cwiseProduct(at.bends);
}

/// rows += pairs * of, where a pair of 0 adds nothing.
void add_products(const Matrix& pairs, const Matrix& of, double factor, Matrix& rows) {
  for (std::int64_t i = 0; i < pairs.rows(); ++i)
    for (std::int64_t j = 0; j < pairs.cols(); ++j)
      if (pairs(i, j) != 0) rows.row(i) += factor * pairs(i, j) * of.row(j);
}

void add_head(const AttentionShape& shape, const BackwardInputs& inputs, const AttentionOptions& options,
              const Head& head, const HeadInputs& in, const HeadGradients& at, Gradients& all) {
  const double scale = options.scale ? *options.scale : 1.0 / std::sqrt(static_cast<double>(shape.head_dim));
  const std::int64_t n = in.b * shape.num_heads + in.h;
  const std::int64_t kv = in.b * shape.num_kv_heads + in.h / (shape.num_heads / shape.num_kv_heads);
  add_products(at.raw, in.key, scale, all.query[n]);
  add_products(at.raw.transpose(), in.query, scale, all.key[kv]);
  if (in.gain != 0)
    add_products(at.weights.cwiseProduct(head.kept).transpose(), in.output_gradient, in.gain, all.value[kv]);
  all.head_gain[in.h] += at.weights.cwiseProduct(at.products).sum();
  all.alibi_slopes[in.h] -= at.biased.cwiseProduct(head.distance).sum();
  for (std::int64_t i = 0; i < head.raw.rows(); ++i) {
    if (options.sinks && head.rows[i] == RowKind::attends)
      all.sinks[in.h] -= std::exp(options.sinks[in.h] - head.lse(i)) * at.deltas(i);
    if (head.rows[i] == RowKind::empty && options.empty_rows == EmptyRows::nan) all.query[n].row(i).setConstant(kNaN);
  }
  if (inputs.forward.bias.data)
    for_each_visible_pair(head, [&](std::int64_t i, std::int64_t j) {
      all.bias[broadcast_index(inputs.forward.bias_extents, in.b, in.h, i, j)] += at.biased(i, j);
    });
}

void add_reads(const ScoreDerivative& derivative, const Head& head, const HeadGradients& at, Gradients& all) {
  for (std::int64_t n = 0; n < derivative.num_reads; ++n) {
    const FormulaRead& read = derivative.reads[n];
    for_each_visible_pair(head, [&](std::int64_t i, std::int64_t j) {
      const Pair pair = head.pair(i, j, 0);
      bool sure;
      const std::int64_t entry = entry_of(derivative, read, pair, &sure);
      if (entry >= 0)
        all.reads[n][entry] += at.formula(i, j) * evaluate(derivative.formula, read.derivative, pair).value;
    });
  }
}

}  // namespace

std::int64_t entry_of(const ScoreDerivative& derivative, const FormulaRead& read, const Pair& pair, bool* sure) {
  *sure = true;
  const auto index = [&](std::int32_t n, std::int32_t extent) -> std::int64_t {
    if (n < 0) return 0;
    const Evaluated x = evaluate(derivative.formula, n, pair);
    const double at = std::floor(x.value);
    if (x.error > 0 && !(std::floor(x.value - x.error) == std::floor(x.value + x.error))) *sure = false;
    return at >= 0 && at < extent ? static_cast<std::int64_t>(at) : -1;
  };
  const std::int64_t row = index(read.row, read.rows), column = index(read.column, read.columns);
  return row < 0 || column < 0 ? -1 : row * read.columns + column;
}

Gradients attention_backward(const AttentionShape& shape, const BackwardInputs& inputs, const AttentionOptions& options,
                             const std::vector<Head>& heads) {
  Gradients all;
  const auto count = [](std::int64_t n) { return static_cast<std::size_t>(n); };
  const std::int64_t kv_heads = shape.batch_size * shape.num_kv_heads;
  all.query.assign(heads.size(), Matrix::Zero(shape.query_length, shape.head_dim));
  all.key.assign(count(kv_heads), Matrix::Zero(shape.key_length, shape.head_dim));
  all.value.assign(count(kv_heads), Matrix::Zero(shape.key_length, shape.value_dim));
  all.sinks = all.head_gain = all.alibi_slopes = std::vector<double>(count(shape.num_heads));
  if (inputs.forward.bias.data) {
    const std::int64_t* extents = inputs.forward.bias_extents.extent;
    all.bias.resize(count(std::accumulate(extents, extents + 4, std::int64_t{1}, std::multiplies<>())));
  }
  if (const ScoreDerivative* derivative = inputs.score_derivative)
    for (std::int64_t n = 0; n < derivative->num_reads; ++n)
      all.reads.emplace_back(count(std::int64_t{derivative->reads[n].rows} * derivative->reads[n].columns));
  for (std::int64_t n = 0; n < static_cast<std::int64_t>(heads.size()); ++n) {
    const HeadInputs in = read_inputs(shape, inputs, options, n / shape.num_heads, n % shape.num_heads);
    HeadGradients& at = all.heads.emplace_back();
    compute_softmax_gradient(heads[n], in, at);
    differentiate_stages(heads[n], inputs.score_derivative, options.softcap, at);
    add_head(shape, inputs, options, heads[n], in, at, all);
    if (inputs.score_derivative) add_reads(*inputs.score_derivative, heads[n], at, all);
  }
  return all;
}

}  // namespace headwise::reference
