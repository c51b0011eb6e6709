// Options of the address sanitizer in WebAssembly, where no environment variable sets them. Without it nothing calls
// this function.

extern "C" const char* __asan_default_options();

/// A request for too much memory is null, as without the sanitizer. A finding aborts the program. To exit would only
/// end the thread that runs the tests, and the main thread would wait for ever. No call stack is kept for each
/// allocation: in WebAssembly, JavaScript would have to make it, which takes 30 times as long as the tests. Freed
/// memory is kept back until it is 16 MiB, not 256, since there are at most 4 GiB.
extern "C" const char* __asan_default_options() {
  return "allocator_may_return_null=1:abort_on_error=1:malloc_context_size=0:quarantine_size_mb=16";
}
