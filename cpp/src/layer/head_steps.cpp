#include "layer/head_steps.h"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>

namespace headwise {

namespace {

/// By what the norm divides a head. The stride is a variable on purpose: squares are then added in ascending order on
/// every instruction set.
double size_of_head(const HeadSteps& steps, const float* head) {
  const Eigen::Map<const Eigen::ArrayXf, 0, Eigen::InnerStride<>> x(head, steps.head_dim, Eigen::InnerStride<>(1));
  const double squares = x.cast<double>().square().sum();
  return steps.norm == QkNorm::rms ? std::sqrt(squares / static_cast<double>(steps.head_dim) + steps.epsilon)
                                   : std::max(std::sqrt(squares), static_cast<double>(steps.epsilon));
}

/// Scales a head to unit mean square (rms) or to unit length (l2), then multiplies it by the gain, if there is one.
void normalise(const HeadSteps& steps, float* head) {
  Eigen::Map<Eigen::ArrayXf> x(head, steps.head_dim);
  x *= static_cast<float>(1.0 / size_of_head(steps, head));
  if (steps.gain) x *= Eigen::Map<const Eigen::ArrayXf>(steps.gain, steps.head_dim);
}

/// The gradient of normalise(). With y = gain x / size and u = gain dy it is dx = u / size - c x (x . u) / size^3. c is
/// 1 / head_dim for rms. It is 1 for l2, or 0 where the size is epsilon.
void normalise_back(const HeadSteps& steps, const float* raw, float* gradient, double* gain_gradient) {
  const double size = size_of_head(steps, raw);
  const auto gain = [&](std::int64_t d) { return steps.gain ? static_cast<double>(steps.gain[d]) : 1.0; };
  double dot = 0;
  for (std::int64_t d = 0; d < steps.head_dim; ++d) {
    const double x = raw[d], dy = gradient[d];
    gain_gradient[d] += x / size * dy;
    dot += x * dy * gain(d);
  }
  const double c = steps.norm == QkNorm::rms                   ? 1.0 / static_cast<double>(steps.head_dim)
                   : size > static_cast<double>(steps.epsilon) ? 1.0
                                                               : 0.0;
  const double shrink = c * dot / (size * size * size);
  for (std::int64_t d = 0; d < steps.head_dim; ++d)
    gradient[d] = static_cast<float>(gradient[d] * gain(d) / size - shrink * raw[d]);
}

}  // namespace

void HeadSteps::apply(std::int64_t token, float* head) const {
  if (norm != QkNorm::none) normalise(*this, head);
  if (angles) turn_head(*angles, angle_rows[token], head);
}

void HeadSteps::take_back(std::int64_t token, const float* raw, float* gradient, double* gain_gradient) const {
  if (std::all_of(gradient, gradient + head_dim, [](float value) { return value == 0.0f; })) return;
  if (angles) turn_head_back(*angles, angle_rows[token], gradient);
  if (norm != QkNorm::none) normalise_back(*this, raw, gradient, gain_gradient);
}

}  // namespace headwise
