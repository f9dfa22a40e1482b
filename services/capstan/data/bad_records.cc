#include "capstan/data/bad_records.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace capstan {

absl::Status BadRecords::Report(const std::string& where, const std::string& message) {
  absl::MutexLock lock(&mu_);
  if (seen_.size() <= limit_ && seen_.insert(where).second && examples_.size() < kExamples) {
    examples_.push_back(message);
  }
  if (seen_.size() <= limit_) return absl::OkStatus();
  if (limit_ == 0) return absl::InvalidArgumentError(message);
  return absl::InvalidArgumentError(
      absl::StrCat(message, "; more bad records than max_bad_records (", limit_,
                   "), the first ones: ", absl::StrJoin(examples_, "; ")));
}

uint64_t BadRecords::count() const {
  absl::MutexLock lock(&mu_);
  return seen_.size();
}

std::vector<std::string> BadRecords::examples() const {
  absl::MutexLock lock(&mu_);
  return examples_;
}

}  // namespace capstan
