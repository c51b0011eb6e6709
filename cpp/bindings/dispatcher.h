#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

namespace headwise {

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

 private:
  void serve() {
    std::unique_lock lock(mutex_);
    for (;;) {
      wake_.wait(lock, [this] { return waiting_; });
      waiting_ = false;
      job_();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  bool waiting_ = false;
  Job job_;
  std::thread thread_;  // Last, since it uses all members above. It never ends: JavaScript terminates its worker.
};

}  // namespace headwise
