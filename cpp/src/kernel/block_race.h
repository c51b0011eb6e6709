#pragma once

#include <utility>
#include <vector>

#include "kernel/kernel_table.h"

namespace headwise {

/// Finds the table whose `multiply` is the fastest on this machine and JavaScript engine. The tables must give equal
/// bits and have equal panels.
///
/// A race takes about 1 ms. At the start all code is unoptimised, and engines optimise a function in the background
/// after it has run for a while. So races are run before a few of the first calls, at least kPause apart. The last race
/// decides.
class BlockRace {
 public:
  /// Milliseconds since any moment.
  using Clock = double (*)();

  static constexpr int kRaces = 5;
  static constexpr double kPause = 50.0;
  /// A table must be faster than the first table by this factor. Below it lies what a clock cannot tell apart.
  static constexpr double kGain = 1.04;
  /// With a coarser clock there is no race. Pages that are not cross-origin isolated have one, and on some servers the
  /// clock stands still during a call.
  static constexpr double kFinestClock = 0.02;

  BlockRace(std::vector<const KernelTable*> tables, Clock clock) : tables_(std::move(tables)), clock_(clock) {}

  /// To be called before every call. Runs a race if it is time. Returns the winner of a race, else null.
  const KernelTable* before_call();

 private:
  [[nodiscard]] const KernelTable* race() const;
  [[nodiscard]] bool clock_is_fine() const;
  [[nodiscard]] double next_tick() const;
  [[nodiscard]] double milliseconds(const KernelTable& table, float* floats) const;

  std::vector<const KernelTable*> tables_;
  Clock clock_;
  int races_left_ = kRaces;
  bool started_ = false;
  double latest_ = 0.0;
};

}  // namespace headwise
