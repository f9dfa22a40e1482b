// A reusable team of threads that divide work among them.
#ifndef CAPSTAN_MODEL_THREAD_TEAM_H_
#define CAPSTAN_MODEL_THREAD_TEAM_H_

#include <cstddef>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/synchronization/mutex.h"

namespace capstan {

// Run must not be called by two threads at once.
class ThreadTeam {
 public:
  // The thread that calls Run is one of the `size` members. REQUIRES: size >= 1.
  explicit ThreadTeam(size_t size);
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  size_t size() const { return helpers_.size() + 1; }

  // Calls work(piece) for each piece below `pieces`, and returns when all calls have returned. A
  // free member takes the next piece, so a thread that gets no CPU time does few pieces, or none.
  void Run(size_t pieces, absl::FunctionRef<void(size_t)> work) ABSL_LOCKS_EXCLUDED(mu_);

 private:
  using Work = absl::FunctionRef<void(size_t)>;
  void Help() ABSL_LOCKS_EXCLUDED(mu_);
  // Takes and does pieces until none is left.
  void DoPieces() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  absl::Mutex mu_;
  Work* work_ ABSL_GUARDED_BY(mu_) = nullptr;  // The work of the present run.
  size_t pieces_ ABSL_GUARDED_BY(mu_) = 0;
  size_t next_ ABSL_GUARDED_BY(mu_) = 0;  // The piece to be taken next.
  size_t done_ ABSL_GUARDED_BY(mu_) = 0;
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  std::vector<std::thread> helpers_;
};

}  // namespace capstan

#endif  // CAPSTAN_MODEL_THREAD_TEAM_H_
