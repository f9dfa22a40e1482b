// Users' programs that fail before their first step. Their workers never register and are restarted
// again and again, so people are warned.
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

// The failures that workers have reported of their programs. Only a few are kept, for a limited
// time, and none of them ends the job. Thread-safe.
class ProgramFailures {
 public:
  static constexpr size_t kMostWorkers = 3;  // How many workers are kept, the latest to fail.
  static constexpr absl::Duration kKept = absl::Minutes(15);

  // Takes in a failure. Returns the sentence that is shown, a single line.
  std::string Note(const std::string& worker, const v1::UserCodeError& error, absl::Time now);
  // The worker has registered: forgets its failure.
  void Forget(const std::string& worker);

  // Returns the sentences of the failures of the last kKept, in the order of the workers' names.
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
