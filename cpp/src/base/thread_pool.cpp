#include "headwise/thread_pool.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <new>

namespace headwise {

namespace {

// Waking a thread takes 20 to 50 us. A thread that expects work looks for it this long before it sleeps.
constexpr std::chrono::microseconds kLongestSpin{40};

template <class Condition>
void spin_until(Condition condition) {
  const auto end = std::chrono::steady_clock::now() + kLongestSpin;
  do {
    for (int i = 0; i < 500; ++i)
      if (condition()) return;
  } while (std::chrono::steady_clock::now() < end);
}

}  // namespace

/// A loop opens a job. Workers that wake while it is open join, claim indices until none is left, and leave. The caller
/// closes the job when no index is left. It waits for the workers that have joined, but not for those that still sleep.
/// After that no worker touches the job's memory.
struct ThreadPool::State {
  std::mutex mutex;
  std::condition_variable work;       // a job opened, or stop
  std::condition_variable finished;   // the last worker left
  std::atomic<std::uint64_t> job{0};  // number of the newest job that was opened; written under the mutex
  bool open = false;
  std::atomic<int> joined{0};  // written under the mutex
  std::atomic<int> calls{0};   // how many `Call`s there are
  bool stop = false;

  double fewest_shared = 0;
  Function function = nullptr;
  void* context = nullptr;
  std::int64_t count = 0;
  std::atomic<std::int64_t> claimed{0};  // of `count`
  std::atomic<std::int64_t> first{0};    // the lowest index that is not taken

  struct Worker {
    State* state;
    int number;
    pthread_t thread;
  };
  std::unique_ptr<Worker[]> workers;
  int wanted = 0;       // how many threads there shall be
  int num_threads = 0;  // how many there are, without the caller

  bool claim() { return claimed.fetch_add(1, std::memory_order_relaxed) < count; }

  void work_up(int worker) {
    while (claim()) function(context, first.fetch_add(1, std::memory_order_relaxed), worker);
  }

  void work_down() {
    for (std::int64_t index = count; claim();) function(context, --index, 0);
  }

  void work_loop(int worker) {
    std::uint64_t seen = 0;
    std::unique_lock<std::mutex> lock(mutex);
    for (;;) {
      work.wait(lock, [&] { return stop || (open && job != seen); });
      if (stop) return;
      seen = job;
      ++joined;
      lock.unlock();
      work_up(worker);
      lock.lock();
      if (--joined == 0) finished.notify_one();
      if (calls == 0) continue;
      const std::uint64_t newest = job;
      lock.unlock();
      spin_until([&] { return job != newest || calls == 0; });
      lock.lock();
    }
  }
};

ThreadPool::ThreadPool(int size, double fewest_shared) : state_(std::make_unique<State>()) {
  state_->fewest_shared = fewest_shared;
  const int wanted = std::max(size, 1) - 1;
  state_->workers.reset(new (std::nothrow) State::Worker[wanted]);
  if (!state_->workers) return;
  state_->wanted = wanted;
  enter();
}

ThreadPool::~ThreadPool() { leave(); }

// Uses pthread_create, since std::thread reports a refused thread by an exception.
void ThreadPool::enter() {
  const auto start = [](void* worker) -> void* {
    auto* self = static_cast<State::Worker*>(worker);
    self->state->work_loop(self->number);
    return nullptr;
  };
  for (int i = state_->num_threads; i < state_->wanted; ++i) {
    State::Worker& worker = state_->workers[i];
    worker.state = state_.get();
    worker.number = i + 1;
    if (pthread_create(&worker.thread, nullptr, start, &worker) != 0) return;
    state_->num_threads = i + 1;
  }
}

void ThreadPool::leave() {
  {
    std::lock_guard<std::mutex> lock(state_->mutex);
    state_->stop = true;
  }
  state_->work.notify_all();
  for (int i = 0; i < state_->num_threads; ++i) pthread_join(state_->workers[i].thread, nullptr);
  state_->num_threads = 0;
  state_->stop = false;
}

int ThreadPool::size() const { return state_->num_threads + 1; }

ThreadPool::Call::Call(ThreadPool& pool) : pool_(pool) { ++pool_.state_->calls; }
ThreadPool::Call::~Call() { --pool_.state_->calls; }

void ThreadPool::start(Loop loop, Function function, void* context) {
  const bool shares = loop.count > 1 && loop.multiply_adds >= state_->fewest_shared;
  {
    std::lock_guard<std::mutex> lock(state_->mutex);
    state_->function = function;
    state_->context = context;
    state_->count = loop.count;
    state_->claimed.store(0, std::memory_order_relaxed);
    state_->first.store(0, std::memory_order_relaxed);
    state_->open = shares;
    if (state_->open) ++state_->job;
  }
  if (shares) state_->work.notify_all();
}

void ThreadPool::finish() {
  state_->work_down();
  std::unique_lock<std::mutex> lock(state_->mutex);
  state_->open = false;
  if (state_->joined > 0) {
    lock.unlock();
    spin_until([&] { return state_->joined == 0; });
    lock.lock();
  }
  state_->finished.wait(lock, [&] { return state_->joined == 0; });
}

}  // namespace headwise
