// Users' programs that fail before they can take a step: nothing of the job knows of their workers,
// which are started again and again, so people are told.
#ifndef CAPSTAN_CHIEF_SHELL_PROGRAM_FAILURES_H_
#define CAPSTAN_CHIEF_SHELL_PROGRAM_FAILURES_H_

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "capstan/v1/chief.pb.h"

namespace capstan::chief {

// What workers have told of their programs' failures: only a few are kept, for a while, and none
// ends a job. Thread-safe.
class ProgramFailures {
 public:
  static constexpr size_t kMostWorkers = 3;  // Those that have failed last.
  static constexpr absl::Duration kKept = absl::Minutes(15);

  // Returns the sentence that is told, which takes no more than a line.
  std::string Note(const std::string& worker, const v1::UserCodeError& error, absl::Time now);
  // The worker has registered.
  void Forget(const std::string& worker);

  // The sentences, by the workers' names.
  std::vector<std::string> Told(absl::Time now) const;

 private:
  struct Failure {
    std::string sentence;
    absl::Time at;
  };

  mutable absl::Mutex mu_;
  std::map<std::string, Failure> failures_ ABSL_GUARDED_BY(mu_);
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_SHELL_PROGRAM_FAILURES_H_
