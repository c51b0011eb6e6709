#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

#include "calls.h"
#include "headwise/status.h"
#include "headwise/thread_pool.h"
#include "kernel/block_race.h"
#include "meanwhile_copies.h"
#include "step.h"

/// Copies the share [begin, end) of `pairs` of each array that JavaScript has left to be copied within the call.
extern "C" void copy_meanwhile(double begin, double end, double pairs);
/// Lets JavaScript make the arrays of the call's results, and touch their memory for the first time.
extern "C" void make_results();

namespace headwise {

/// What JavaScript holds in place of a pointer.
using Address = std::uintptr_t;

/// A thread that runs one job at a time for a caller that must not block: the main thread of a window.
class Dispatcher {
 public:
  /// A call and the function that runs it.
  struct Job {
    void (*function)(void* engine, const void* call) = nullptr;
    void* engine = nullptr;
    const void* call = nullptr;
    void operator()() const { function(engine, call); }
  };

  Dispatcher() : thread_([this] { serve(); }) {}

  void start(const Job& job) {
    {
      const std::lock_guard lock(mutex_);
      job_ = job;
      waiting_ = true;
    }
    wake_.notify_one();
  }

  /// Ends the thread. Not while a call runs.
  void leave() {
    {
      const std::lock_guard lock(mutex_);
      leaving_ = true;
    }
    wake_.notify_one();
    thread_.join();
  }

  /// Starts the thread again, after `leave()`.
  void enter() {
    leaving_ = false;
    thread_ = std::thread([this] { serve(); });
  }

 private:
  void serve() {
    std::unique_lock lock(mutex_);
    for (;;) {
      wake_.wait(lock, [this] { return waiting_ || leaving_; });
      if (leaving_) return;
      waiting_ = false;
      job_();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  bool waiting_ = false;
  bool leaving_ = false;
  Job job_;
  // Last, since it uses all members above. It ends only in leave(): at the end JavaScript terminates its worker.
  std::thread thread_;
};

/// Runs one call at a time and keeps its status.
class Engine {
 public:
  /// @param dispatched  the caller must not block: calls return at once and run on a thread of their own.
  Engine(int num_threads, bool dispatched);

  /// Starts `call`. The call must not change until the word at `finished()` is 1. Without a dispatcher the call has
  /// finished when this returns.
  template <class Call>
  void start(Call& call) {
    if constexpr (requires { call.options.empty_row_report; }) call.options.empty_row_report = &empty_rows_;
    finished_.store(0, std::memory_order_relaxed);
    if (!dispatcher_) return work<Call>(this, &call);
    dispatcher_->start({&work<Call>, this, &call});
  }

  /// Whether JavaScript leaves queries, keys and values of attention to be copied by `attend`. With a dispatcher it
  /// copies them before the call: the page's thread would take the core of a thread that computes.
  [[nodiscard]] bool copies_meanwhile() const { return !dispatcher_ && pool_.size() > 1; }

  /// Ends all threads, so that their workers can link the late part of the module. Not while a call runs.
  void leave();
  /// Starts them again.
  void enter();

  /// Starts attention. What was left to be copied is copied before the call, or by this thread while other threads
  /// begin with the first of it; then it makes the arrays of the results too.
  void attend(AttentionCall& call);

  /// Starts the calls of a step: `parts` is the address of an array of StepPart.
  void step(Address parts, int num_parts) {
    step_ = {reinterpret_cast<const StepPart*>(parts), num_parts};
    start(step_);
  }

  /// Address of a C string: the block of the matrix product. It may be another one after a call.
  [[nodiscard]] Address block() const { return reinterpret_cast<Address>(kernel_table().block); }
  [[nodiscard]] Address finished() const { return reinterpret_cast<Address>(&finished_); }
  [[nodiscard]] int threads() const { return pool_.size(); }
  /// Address of the code of the status, an int32.
  [[nodiscard]] Address status() const { return reinterpret_cast<Address>(&code_); }
  /// Address of a C string.
  [[nodiscard]] Address message() const { return reinterpret_cast<Address>(message_.text); }
  /// Address of `row_count()` triples of int32: batch, head, query.
  [[nodiscard]] Address rows() const { return reinterpret_cast<Address>(empty_rows_.rows); }
  [[nodiscard]] int row_count() const { return empty_rows_.count; }

 private:
  template <class Call>
  static void work(void* engine, const void* call) {
    auto& self = *static_cast<Engine*>(engine);
    if (const KernelTable* winner = self.race_.before_call()) use_kernel_table(winner);
    self.finish(run(self.pool_, *static_cast<const Call*>(call)));
  }
  void finish(const Status& status);

  ThreadPool pool_;
  MeanwhileCopies copies_{copy_meanwhile, make_results};
  StepCall step_;
  Dispatcher* dispatcher_ = nullptr;
  BlockRace race_;
  std::int32_t code_ = 0;
  Message message_;
  EmptyRowReport empty_rows_;
  std::atomic<std::int32_t> finished_ = 1;
};

}  // namespace headwise
