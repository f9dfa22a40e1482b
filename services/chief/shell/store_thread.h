// A thread for slow work, such as reading and writing the object store. It runs one job after the
// other, in order.
#ifndef CAPSTAN_CHIEF_SHELL_STORE_THREAD_H_
#define CAPSTAN_CHIEF_SHELL_STORE_THREAD_H_

#include <cstddef>
#include <deque>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/synchronization/mutex.h"

namespace capstan::chief {

// Thread-safe.
class StoreThread {
 public:
  using Job = absl::AnyInvocable<void()>;

  explicit StoreThread(size_t most_waiting);
  // Runs the jobs that wait, and ends the thread.
  ~StoreThread();

  // Queues `job`. Returns false, and drops the job, if `most_waiting` jobs wait already.
  bool Post(Job job);

 private:
  void Run();

  const size_t most_waiting_;
  absl::Mutex mu_;
  std::deque<Job> waiting_ ABSL_GUARDED_BY(mu_);
  bool ending_ ABSL_GUARDED_BY(mu_) = false;
  std::thread thread_;
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_SHELL_STORE_THREAD_H_
