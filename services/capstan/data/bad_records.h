// The records of a process that could not be understood, and how many of them are tolerated.
#ifndef CAPSTAN_DATA_BAD_RECORDS_H_
#define CAPSTAN_DATA_BAD_RECORDS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"

namespace capstan {

// A record counts once, however often its task is read. Thread-safe.
class BadRecords {
 public:
  static constexpr size_t kExamples = 10;

  explicit BadRecords(uint64_t limit) : limit_(limit) {}

  // `where` identifies the record: file and place; `message` is "file:line: what was expected". OK
  // while at most `limit` have been reported; then INVALID_ARGUMENT with the message and the count.
  absl::Status Report(const std::string& where, const std::string& message);

  uint64_t count() const;
  std::vector<std::string> examples() const;  // The first kExamples messages.

 private:
  const uint64_t limit_;
  mutable absl::Mutex mu_;
  absl::flat_hash_set<std::string> seen_ ABSL_GUARDED_BY(mu_);  // At most limit_ + 1.
  std::vector<std::string> examples_ ABSL_GUARDED_BY(mu_);
};

}  // namespace capstan

#endif  // CAPSTAN_DATA_BAD_RECORDS_H_
