#include "kernel/block_race.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>

#include "base/memory.h"

namespace headwise {

namespace {

// Rows as a strip has them, and some of its keys.
constexpr std::int64_t kRaceRows = 32, kRaceColumns = 64, kRaceDepth = 64;
constexpr std::int64_t kRaceFloats = kRaceRows * kRaceDepth + kRaceDepth * kRaceColumns + kRaceRows * kRaceColumns;

// Each table runs for kRounds stretches, in turns with the others. Its best stretch counts.
constexpr int kRounds = 4;
constexpr double kStretch = 0.05;

// A fine clock has changed after so many readings, and a stretch has ended after so many runs.
constexpr int kMostReadings = 1000, kMostRuns = 100;

}  // namespace

const KernelTable* BlockRace::before_call() {
  if (races_left_ == 0 || tables_.size() < 2) return nullptr;
  const double now = clock_();
  if (!started_) {  // the first call is not delayed
    started_ = true;
    latest_ = now;
  }
  if (now - latest_ < kPause) return nullptr;
  --races_left_;
  const KernelTable* winner = race();
  if (!winner) races_left_ = 0;
  latest_ = clock_();
  return winner;
}

/// The winner, or null if it cannot be found: there is no memory, or the clock is too coarse.
const KernelTable* BlockRace::race() const {
  Buffer<float> floats, best;
  if (!clock_is_fine() || !allocate_all(floats, kRaceFloats, best, std::ssize(tables_)).ok()) return nullptr;
  std::fill_n(floats.data(), floats.size(), 1.0f);
  std::fill_n(best.data(), best.size(), std::numeric_limits<float>::infinity());
  for (int round = 0; round < kRounds; ++round)
    for (std::size_t t = 0; t < tables_.size(); ++t)
      best[t] = std::min(best[t], static_cast<float>(milliseconds(*tables_[t], floats.data())));
  const auto fastest = std::min_element(best.data(), best.data() + best.size()) - best.data();
  return tables_[best[fastest] * kGain < best[0] ? fastest : 0];
}

/// The time of one `multiply`.
double BlockRace::milliseconds(const KernelTable& table, float* floats) const {
  float *b = floats, *a = b + kRaceDepth * kRaceColumns, *c = a + kRaceRows * kRaceDepth;
  const double start = next_tick();
  double elapsed = 0.0;
  int runs = 0;
  for (; elapsed < kStretch && runs < kMostRuns; elapsed = clock_() - start, ++runs)
    table.multiply(a, kRaceDepth, b, kRaceDepth * table.panel_width, kRaceDepth, kRaceColumns / table.panel_width, c,
                   kRaceColumns, kRaceRows, false);
  return elapsed / runs;
}

bool BlockRace::clock_is_fine() const {
  const double tick = next_tick(), after = next_tick();
  return after > tick && after - tick <= kFinestClock;
}

/// The time after the clock has changed. A clock that stands still has not changed.
double BlockRace::next_tick() const {
  const double now = clock_();
  double next = now;
  for (int readings = 0; next == now && readings < kMostReadings; ++readings) next = clock_();
  return next;
}

}  // namespace headwise
