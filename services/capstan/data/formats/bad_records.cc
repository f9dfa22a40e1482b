#include "capstan/data/formats/bad_records.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace capstan {

absl::Status BadRecords::Report(const std::string& message) {
  ++count_;
  if (examples_.size() < kExamples) examples_.push_back(message);
  return CheckLimit(message);
}

absl::Status BadRecords::Add(const BadRecords& more) {
  if (more.count_ == 0) return absl::OkStatus();
  count_ += more.count_;
  for (const std::string& example : more.examples_) {
    if (examples_.size() < kExamples) examples_.push_back(example);
  }
  return CheckLimit(more.examples_.back());
}

absl::Status BadRecords::CheckLimit(const std::string& last) const {
  if (count_ <= limit_) return absl::OkStatus();
  if (limit_ == 0) return absl::InvalidArgumentError(examples_.front());
  return absl::InvalidArgumentError(
      absl::StrCat(last, "; more bad records than max_bad_records (", limit_,
                   "), the first ones: ", absl::StrJoin(examples_, "; ")));
}

}  // namespace capstan
