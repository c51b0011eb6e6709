#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>

namespace headwise {

/// A fixed set of sleeping workers that share out index ranges.
///
/// Which worker computes an index changes from run to run, but never what is computed: a task may depend on its index
/// only. The calling thread takes part as worker 0. It counts down from the last index and the others up from the
/// first, so that from call to call each finds in its caches what it had before: to write where another core has read
/// costs ten times as much as elsewhere. A pool of size 1 owns no thread and runs everything inline. Calls do not nest,
/// and one caller uses a pool at a time.
class ThreadPool {
 public:
  /// @param size number of workers including the caller, clamped below at 1. If the system refuses a thread the pool is
  ///   smaller: see `size()`.
  explicit ThreadPool(int size);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  [[nodiscard]] int size() const;

  /// Runs `task(index, worker)` for every index in [0, count) and returns when all are done.
  /// `worker` is in [0, size()) and stable within one task: use it to index per-worker scratch.
  template <class Task>
  void parallel_for(std::int64_t count, Task&& task) {
    parallel_for(count, task, [] {});
  }

  /// The same, but the calling thread first runs `meanwhile()`, while the others have begun.
  template <class Task, class Meanwhile>
  void parallel_for(std::int64_t count, Task&& task, Meanwhile&& meanwhile) {
    start(
        count,
        [](void* context, std::int64_t index, int worker) {
          (*static_cast<std::remove_reference_t<Task>*>(context))(index, worker);
        },
        const_cast<void*>(static_cast<const void*>(&task)));
    meanwhile();
    finish();
  }

 private:
  using Function = void (*)(void* context, std::int64_t index, int worker);
  void start(std::int64_t count, Function function, void* context);
  void finish();

  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace headwise
