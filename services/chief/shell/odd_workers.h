// Workers whose programs declare other facts, such as versions of libraries, than the program that
// has declared the job's model. The job continues, and people are warned.
#ifndef CAPSTAN_CHIEF_SHELL_ODD_WORKERS_H_
#define CAPSTAN_CHIEF_SHELL_ODD_WORKERS_H_

#include <cstddef>
#include <map>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "capstan/v1/chief.pb.h"

namespace capstan::chief {

// Thread-safe.
class OddWorkers {
 public:
  static constexpr size_t kMost = 1000;   // How many workers are remembered.
  static constexpr size_t kMostTold = 3;  // How many sentences are shown; others are only counted.

  // A worker has registered. `sentence` says what is odd about it; empty if nothing is.
  void Note(const std::string& worker, const std::string& sentence);

  // Adds warnings about the workers that `status` names and that are not lost: each sentence once.
  void AddTo(v1::GetStatusReply& status) const;

 private:
  mutable absl::Mutex mu_;
  std::map<std::string, std::string> sentences_ ABSL_GUARDED_BY(mu_);  // By the workers' names.
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_SHELL_ODD_WORKERS_H_
