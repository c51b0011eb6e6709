#pragma once

// The steps of a rotary embedding whose arguments have been checked.

#include "base/memory.h"
#include "base/rules.h"
#include "headwise/array.h"
#include "headwise/position.h"
#include "position/kept_rows.h"

namespace headwise {

/// R, the number of features of a head that are turned.
[[nodiscard]] constexpr std::int64_t rotary_dim_of(const RotaryOptions& options, std::int64_t head_dim) {
  return options.rotary_dim ? options.rotary_dim : head_dim;
}

[[nodiscard]] constexpr bool has_sections(const RotaryOptions& options) {
  return options.temporal_section != 0 || options.height_section != 0 || options.width_section != 0;
}

/// The rule on R alone.
[[nodiscard]] Error check_rotary_dim(std::int64_t rotary_dim, std::int64_t head_dim);

/// The rule on positions.
[[nodiscard]] Error check_positions(const RotaryOptions& options, const double* positions, std::int64_t count);

/// The rule on a position of a token: tables have a row for some only.
[[nodiscard]] Error check_table_rows(const RotaryOptions& options, std::int64_t position);

/// Whether two rotary embeddings of heads of this width, which have been checked, turn alike. Tables never count as
/// alike.
[[nodiscard]] bool same_angles(const RotaryOptions& a, const RotaryOptions& b, std::int64_t head_dim);

/// The rule on the planes of positions.
[[nodiscard]] Error check_planes(const RotaryOptions& options, std::int64_t planes);

/// The arrays of rotary options.
class RotaryArrays {
 public:
  /// Copies the arrays of checked options. The options then point to the copies.
  [[nodiscard]] Error keep(std::int64_t head_dim, RotaryOptions* options);
  [[nodiscard]] std::int64_t bytes() const;

 private:
  Buffer<double> numbers_;
  Buffer<float> tables_;
};

/// The angles of a rotary embedding, with the frequencies computed once.
class RotaryAngles final : public PositionRule {
 public:
  /// The options have been checked. Only memory can be refused. Tables must outlive the angles.
  [[nodiscard]] Error create(const RotaryOptions& options, std::int64_t head_dim);

  /// Whether others turn every position by the same angles. Tables never count as alike.
  [[nodiscard]] bool turns_like(const RotaryAngles& other) const;

  /// Fills half() cosines and sines. They are computed in double and rounded once. Outside of tables, where only
  /// padding may stand, nothing turns.
  void write(double position, float* cosines, float* sines) const;
  /// row = [cosines, sines]
  void write(double position, float* row) const override { write(position, row, row + half()); }

  /// The row of a token that stands at positions[plane * stride] in plane 0, 1 and 2: the pairs of a section are those
  /// of its plane. `row` and `scratch` have 2 half() numbers.
  void write_sections(const double* positions, std::int64_t stride, float* row, float* scratch) const;

  [[nodiscard]] std::int64_t half() const { return half_; }  ///< R / 2: pairs of a head
  [[nodiscard]] bool interleaved() const { return interleaved_; }

 private:
  void copy_row(double position, float* cosines, float* sines) const;

  Buffer<double> theta_;
  const float *table_cosines_ = nullptr, *table_sines_ = nullptr;  ///< if they are given
  std::int64_t table_rows_ = 0;
  std::int64_t half_ = 0;
  double amplitude_ = 1.0;
  std::int64_t section_ends_[3] = {0, 0, 0};
  bool interleaved_ = false;
};

/// Turns one head in place by a row of its angles. Its features lie side by side.
void turn_head(const RotaryAngles& angles, const float* row, float* head);

/// Takes the gradient of a turned head back to that of the head. With an amplitude it is not the inverse.
void turn_head_back(const RotaryAngles& angles, const float* row, float* head);

/// Turns x [B, H, S, D] by the positions of its tokens, [planes, B, S]: one plane, or three with sections. x and the
/// positions have been checked. Only memory can be refused.
[[nodiscard]] Error turn_at(ThreadPool& pool, Layout layout, std::int64_t batch_size, std::int64_t num_heads,
                            std::int64_t length, std::int64_t head_dim, const RotaryAngles& angles, ConstArray x,
                            const double* positions, MutableArray y, std::int64_t planes = 1);

}  // namespace headwise
