// The thread pool, and that no result depends on it. The names matter: the thread sanitizer runs *ThreadPool* and
// *Threads*.

#include <atomic>
#include <set>
#include <thread>

#include "harness.h"
#include "headwise/thread_pool.h"

namespace headwise::test_thread_pool {

TEST(ThreadPool, RunsEveryIndexOnce) {
  for (const int size : {1, 2, 3, 4, 9}) {
    ThreadPool pool(size);
    for (const std::int64_t count : {0, 1, 2, 3, 100, 5000}) {
      std::vector<std::atomic<int>> runs(count);
      pool.parallel_for(count, [&](std::int64_t index, int) { ++runs[index]; });
      for (const std::atomic<int>& times : runs) ASSERT_EQ(times, 1);
    }
  }
}

TEST(ThreadPool, WorkersAreNumberedAndNoTwoTasksShareOne) {
  ThreadPool pool(4);
  std::vector<std::atomic<int>> busy(4);
  std::atomic<bool> shared = false;
  pool.parallel_for(2000, [&](std::int64_t, int worker) {
    if (worker < 0 || worker >= 4 || busy[worker]++ != 0) shared = true;
    std::this_thread::yield();
    --busy[worker];
  });
  EXPECT_FALSE(shared);
}

TEST(ThreadPool, PlainScratchPerWorkerNeedsNoLock) {
  ThreadPool pool(4);
  std::vector<std::int64_t> sums(pool.size(), 0);
  pool.parallel_for(10000, [&](std::int64_t index, int worker) { sums[worker] += index; });
  std::int64_t total = 0;
  for (const std::int64_t sum : sums) total += sum;
  EXPECT_EQ(total, 10000LL * 9999 / 2);
}

TEST(ThreadPool, WhatTasksWroteIsSeenAfterwards) {
  ThreadPool pool(3);
  std::vector<int> written(512, 0);
  for (int round = 1; round <= 300; ++round) {
    pool.parallel_for(512, [&](std::int64_t index, int) { written[index] += round; });
    ASSERT_EQ(written[511], round * (round + 1) / 2);
  }
}

TEST(ThreadPool, TheCallerTakesPart) {
  ThreadPool pool(1);
  pool.parallel_for(3, [caller = std::this_thread::get_id()](std::int64_t, int worker) {
    EXPECT_EQ(std::this_thread::get_id(), caller);
    EXPECT_EQ(worker, 0);
  });
}

TEST(ThreadPool, TheCallerDoesSomethingElseFirst) {
  for (const int size : {1, 2, 4}) {
    ThreadPool pool(size);
    for (const std::int64_t count : {0, 1, 2, 100}) {
      std::atomic<bool> meanwhile = false;
      std::atomic<int> runs = 0, too_early = 0;
      pool.parallel_for(
          count,
          [&](std::int64_t, int worker) {
            ++runs;
            if (worker == 0 && !meanwhile) ++too_early;
          },
          [&] { meanwhile = true; });
      EXPECT_TRUE(meanwhile);
      EXPECT_EQ(runs, count);
      EXPECT_EQ(too_early, 0);
    }
  }
}

TEST(ThreadPool, TheOthersBeginMeanwhile) {
  ThreadPool pool(2);
  std::atomic<bool> begun = false;
  pool.parallel_for(
      2, [&](std::int64_t, int) { begun = true; },
      [&] {
        while (!begun) std::this_thread::yield();
      });
}

TEST(ThreadPool, ALoopOfLittleWorkIsComputedByTheCaller) {
  ThreadPool pool(4, 1000);
  const ThreadPool::Call awake(pool);
  for (int round = 0; round < 100; ++round) {
    std::int64_t others = 0, runs = 0;
    pool.parallel_for({100, 999}, [&](std::int64_t, int worker) { ++runs, others += worker != 0; });
    ASSERT_EQ(runs, 100);
    ASSERT_EQ(others, 0);
  }
}

TEST(ThreadPool, ALoopOfMoreWorkOrOfUnknownWorkIsShared) {
  ThreadPool pool(2, 1000);
  for (const ThreadPool::Loop loop : {ThreadPool::Loop(2, 1000), ThreadPool::Loop(2)}) {
    std::atomic<bool> begun = false;
    const auto begin = [&](std::int64_t, int) { begun = true; };
    pool.parallel_for(loop, begin, [&] {
      while (!begun) std::this_thread::yield();
    });
  }
}

TEST(ThreadPool, LoopsOfACallSeeWhatTheLoopBeforeWrote) {
  for (const int size : {1, 2, 4}) {
    ThreadPool pool(size);
    for (int round = 0; round < 100; ++round) {
      const ThreadPool::Call call(pool), nested(pool);
      std::vector<int> written(64, 0);
      for (const std::int64_t count : {64, 1, 64, 0, 64})
        pool.parallel_for(count, [&](std::int64_t index, int) { ++written[index]; });
      ASSERT_EQ(written[0], 4);
      ASSERT_EQ(written[63], 3);
    }
  }
}

TEST(ThreadPool, ASizeBelowOneIsOne) {
  EXPECT_EQ(ThreadPool(0).size(), 1);
  EXPECT_EQ(ThreadPool(-7).size(), 1);
  EXPECT_EQ(ThreadPool(3).size(), 3);
}

TEST(ThreadPool, ComesAndGoesWithoutWork) {
  for (int round = 0; round < 100; ++round) ThreadPool pool(4);
}

TEST(ThreadPool, LeavesAndEntersBetweenLoops) {
  for (const int size : {1, 2, 4}) {
    ThreadPool pool(size);
    for (int round = 0; round < 50; ++round) {
      std::vector<std::atomic<int>> runs(200);
      const auto run = [&](std::int64_t index, int) { ++runs[index]; };
      pool.parallel_for(200, run);
      pool.leave();
      EXPECT_EQ(pool.size(), 1);
      pool.parallel_for(200, run);  // on the caller alone
      pool.enter();
      EXPECT_EQ(pool.size(), size);
      pool.parallel_for(200, run);
      for (const std::atomic<int>& times : runs) ASSERT_EQ(times, 3);
    }
  }
}

TEST(ThreadPool, LeavingAndEnteringTwiceIsAsOnce) {
  ThreadPool pool(3);
  pool.leave();
  pool.leave();
  pool.enter();
  pool.enter();
  EXPECT_EQ(pool.size(), 3);
  std::atomic<int> runs = 0;
  pool.parallel_for(100, [&](std::int64_t, int) { ++runs; });
  EXPECT_EQ(runs, 100);
}

TEST(ThreadPool, MayEndWhileItsThreadsAreAway) {
  ThreadPool pool(4);
  pool.leave();
}

// Every path that shares work: tiles, splits and their merge, inspection, a ragged batch, everything at once.
TEST(Threads, TheSameBitsForEveryNumberOfThreads) {
  for (const char* name : {"size-square-193", "decode-5000-keys-8-over-2", "decode-2049-keys-looked-into",
                           "ragged-BSHD-long", "returns-everything", "returns-top-average", "together-5-zero"}) {
    SCOPED_TRACE(name);
    const cases::Case& call = cases::named(name);
    const std::vector<std::uint8_t> alone = compute(call).bits();
    for (int threads = 2; threads <= 4; ++threads) EXPECT_EQ(compute(call, threads).bits(), alone);
  }
}

TEST(Threads, TheSameBitsInEveryRun) {
  const cases::Case& call = cases::named("decode-5000-keys-8-over-2");
  const std::vector<std::uint8_t> first = compute(call, 4).bits();
  for (int run = 0; run < 20; ++run) ASSERT_EQ(compute(call, 4).bits(), first);
}

}  // namespace headwise::test_thread_pool
