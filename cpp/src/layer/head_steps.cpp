#include "layer/head_steps.h"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>

namespace headwise {

namespace {

/// Scales a head to unit mean square (rms) or to unit length (l2), then multiplies it by the gain, if there is one.
void normalise(const HeadSteps& steps, float* head) {
  // The stride is a variable on purpose: squares are then added in ascending order on every instruction set.
  Eigen::Map<Eigen::ArrayXf, 0, Eigen::InnerStride<>> x(head, steps.head_dim, Eigen::InnerStride<>(1));
  const double squares = x.cast<double>().square().sum();
  const double size = steps.norm == QkNorm::rms
                          ? std::sqrt(squares / static_cast<double>(steps.head_dim) + steps.epsilon)
                          : std::max(std::sqrt(squares), static_cast<double>(steps.epsilon));
  x *= static_cast<float>(1.0 / size);
  if (steps.gain) x *= Eigen::Map<const Eigen::ArrayXf>(steps.gain, steps.head_dim);
}

}  // namespace

void HeadSteps::apply(std::int64_t token, float* head) const {
  if (norm != QkNorm::none) normalise(*this, head);
  if (angles) turn_head(*angles, angle_rows[token], head);
}

}  // namespace headwise
