// The race that chooses the block of the matrix product, with a clock that the tests move.

#include <gtest/gtest.h>

#include "kernel/block_race.h"

namespace headwise::test_block_race {

double now = 0.0;   // milliseconds
double tick = 0.0;  // the clock shows multiples of it
int runs = 0;

double shown_time() {
  now += 1e-4;
  return tick > 0.0 ? static_cast<double>(static_cast<std::int64_t>(now / tick)) * tick : now;
}

/// Takes `microseconds` and computes nothing.
template <int microseconds>
KernelTable taking() {
  KernelTable table{};
  table.panel_width = 16;
  table.multiply = [](const float*, std::ptrdiff_t, const float*, std::ptrdiff_t, std::int64_t, std::int64_t, float*,
                      std::ptrdiff_t, std::int64_t, bool) {
    now += microseconds * 1e-3;
    ++runs;
  };
  return table;
}

const KernelTable first = taking<600>(), slower = taking<700>(), hardly_faster = taking<590>(), faster = taking<400>();

class BlockRaces : public testing::Test {
 protected:
  void SetUp() override { now = tick = 0.0, runs = 0; }

  /// The winner of the race before the second call, which is late enough for one.
  static const KernelTable* winner(std::vector<const KernelTable*> tables) {
    BlockRace race(std::move(tables), shown_time);
    EXPECT_EQ(race.before_call(), nullptr);
    now += 2 * BlockRace::kPause;
    return race.before_call();
  }
};

TEST_F(BlockRaces, TheFastestTableWins) { EXPECT_EQ(winner({&first, &slower, &faster, &hardly_faster}), &faster); }

TEST_F(BlockRaces, TheFirstTableWinsUnlessAnotherIsClearlyFaster) {
  EXPECT_EQ(winner({&first, &slower, &hardly_faster}), &first);
}

TEST_F(BlockRaces, TheFirstCallIsNotDelayed) {
  BlockRace race({&first, &faster}, shown_time);
  EXPECT_EQ(race.before_call(), nullptr);
  EXPECT_EQ(runs, 0);
}

TEST_F(BlockRaces, NoRaceFollowsAnotherBeforeThePauseIsOver) {
  BlockRace race({&first, &faster}, shown_time);
  EXPECT_EQ(race.before_call(), nullptr);
  now += 2 * BlockRace::kPause;
  EXPECT_EQ(race.before_call(), &faster);
  now += 0.5 * BlockRace::kPause;
  EXPECT_EQ(race.before_call(), nullptr);
}

TEST_F(BlockRaces, RacesEnd) {
  BlockRace race({&first, &faster}, shown_time);
  int winners = 0;
  for (int call = 0; call < 10 * BlockRace::kRaces; ++call, now += 2 * BlockRace::kPause)
    winners += race.before_call() != nullptr;
  EXPECT_EQ(winners, BlockRace::kRaces);
}

TEST_F(BlockRaces, ACoarseClockStartsNoRace) {
  tick = 0.1;
  EXPECT_EQ(winner({&first, &faster}), nullptr);
  EXPECT_EQ(runs, 0);
}

TEST_F(BlockRaces, AClockThatStandsStillStartsNoRace) {
  BlockRace race(
      {&first, &faster}, +[] { return now; });
  EXPECT_EQ(race.before_call(), nullptr);
  now += 2 * BlockRace::kPause;
  EXPECT_EQ(race.before_call(), nullptr);
  EXPECT_EQ(runs, 0);
}

TEST_F(BlockRaces, OneTableNeedsNoRace) {
  EXPECT_EQ(winner({&first}), nullptr);
  EXPECT_EQ(runs, 0);
}

}  // namespace headwise::test_block_race
