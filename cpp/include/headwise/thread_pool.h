#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <type_traits>

namespace headwise {

/// A fixed set of workers that share out the indices of a loop. They sleep between calls. Within a `Call` they stay
/// awake for a moment after each loop, because waking them can take longer than a short loop.
///
/// The worker that computes an index may change from run to run. What is computed must not change: a task may depend on
/// its index only. The calling thread takes part as worker 0. It takes indices from the last one down, and the other
/// workers take them from the first one up. Each core then often meets the same indices again in the next call, and
/// finds their data in its caches. Writing where another core has read can cost ten times as much. A pool of size 1 has
/// no threads of its own: the caller computes everything. Calls must not nest, and only one caller may use a pool at a
/// time.
class ThreadPool {
 public:
  /// @param size  the number of workers, the caller included; at least 1. If the system refuses a thread, the pool is
  ///   smaller: see `size()`.
  /// @param fewest_shared  multiply-adds: the caller alone computes a loop with fewer, and is done before another
  ///   worker has begun.
  explicit ThreadPool(int size, double fewest_shared = 0);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  [[nodiscard]] int size() const;

  /// Ends the threads: the pool then has size 1. Not while a loop runs.
  void leave();
  /// Starts the threads again, after `leave()`.
  void enter();

  /// A call with several loops. Make one before the first loop; after it the workers sleep again. Calls may nest.
  class Call {
   public:
    explicit Call(ThreadPool& pool);
    ~Call();
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

   private:
    ThreadPool& pool_;
  };

  /// The indices [0, count) of a loop, and about how many multiply-adds they take together, if that is known.
  struct Loop {
    std::int64_t count;
    double multiply_adds = std::numeric_limits<double>::infinity();

    Loop(std::int64_t indices) : count(indices) {}
    Loop(std::int64_t indices, double of_all) : count(indices), multiply_adds(of_all) {}
  };

  /// Runs `task(index, worker)` for every index of the loop, and returns when all have run. `worker` is in [0, size()).
  /// Use it as an index into scratch of which every worker has its own.
  template <class Task>
  void parallel_for(Loop loop, Task&& task) {
    parallel_for(loop, task, [] {});
  }

  /// The same, but the calling thread first runs `meanwhile()`. The other workers begin at once.
  template <class Task, class Meanwhile>
  void parallel_for(Loop loop, Task&& task, Meanwhile&& meanwhile) {
    start(
        loop,
        [](void* context, std::int64_t index, int worker) {
          (*static_cast<std::remove_reference_t<Task>*>(context))(index, worker);
        },
        const_cast<void*>(static_cast<const void*>(&task)));
    meanwhile();
    finish();
  }

 private:
  using Function = void (*)(void* context, std::int64_t index, int worker);
  void start(Loop loop, Function function, void* context);
  void finish();

  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace headwise
