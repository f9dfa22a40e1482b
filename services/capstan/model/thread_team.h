// Threads that do one piece of work together, again and again.
#ifndef CAPSTAN_MODEL_THREAD_TEAM_H_
#define CAPSTAN_MODEL_THREAD_TEAM_H_

#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/synchronization/mutex.h"

namespace capstan {

// Run must not be called by two threads at once.
class ThreadTeam {
 public:
  // The caller of Run is one of the `size` members. REQUIRES: size >= 1.
  explicit ThreadTeam(size_t size);
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  size_t size() const { return helpers_.size() + 1; }

  // Calls work(member) for each member from 0 on, each on its own thread, the caller's being 0.
  // Returns when all have returned.
  void Run(absl::FunctionRef<void(size_t)> work) ABSL_LOCKS_EXCLUDED(mu_);

 private:
  using Work = absl::FunctionRef<void(size_t)>;
  void Help(size_t member) ABSL_LOCKS_EXCLUDED(mu_);

  absl::Mutex mu_;
  Work* work_ ABSL_GUARDED_BY(mu_) = nullptr;
  uint64_t runs_ ABSL_GUARDED_BY(mu_) = 0;   // Begun so far; a helper follows.
  size_t working_ ABSL_GUARDED_BY(mu_) = 0;  // Helpers that have not finished the present run.
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  std::vector<std::thread> helpers_;
};

}  // namespace capstan

#endif  // CAPSTAN_MODEL_THREAD_TEAM_H_
