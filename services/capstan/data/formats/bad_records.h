// Records that could not be parsed, and the limit of their number.
#ifndef CAPSTAN_DATA_FORMATS_BAD_RECORDS_H_
#define CAPSTAN_DATA_FORMATS_BAD_RECORDS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace capstan {

// Thread-compatible.
class BadRecords {
 public:
  static constexpr size_t kExamples = 10;

  explicit BadRecords(uint64_t limit) : limit_(limit) {}

  // `message` is "file:line: what was expected". Returns OK while at most `limit` records are bad;
  // otherwise INVALID_ARGUMENT with the message, the limit and the first messages.
  absl::Status Report(const std::string& message);

  // Adds the bad records of another task. Errors as for Report.
  absl::Status Add(const BadRecords& more);

  uint64_t count() const { return count_; }
  const std::vector<std::string>& examples() const { return examples_; }  // The first messages.

 private:
  absl::Status CheckLimit(const std::string& last) const;

  uint64_t limit_;
  uint64_t count_ = 0;
  std::vector<std::string> examples_;  // At most kExamples.
};

}  // namespace capstan

#endif  // CAPSTAN_DATA_FORMATS_BAD_RECORDS_H_
