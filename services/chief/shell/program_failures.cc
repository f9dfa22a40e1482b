#include "chief/shell/program_failures.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "capstan/base/quote.h"

namespace capstan::chief {
namespace {

constexpr size_t kMostName = 100;  // Bytes.
constexpr size_t kMostMessage = 500;

// Returns the first `most` bytes of `text` as one line.
std::string LineOf(const std::string& text, size_t most) {
  std::string line = FirstBytes(text, most);
  const bool cut = line.size() < text.size();
  for (char& c : line) {
    if (absl::ascii_iscntrl(static_cast<unsigned char>(c))) c = ' ';
  }
  return cut ? absl::StrCat(line, "...") : line;
}

}  // namespace

std::string ProgramFailures::Note(const std::string& worker, const v1::UserCodeError& error,
                                  absl::Time now) {
  const std::string name = LineOf(worker, kMostName);
  std::string sentence = absl::StrCat("worker ", name, "'s program fails: ");
  if (!error.type().empty()) absl::StrAppend(&sentence, LineOf(error.type(), kMostName), ": ");
  absl::StrAppend(&sentence, LineOf(error.message(), kMostMessage));
  if (!error.place().empty()) absl::StrAppend(&sentence, ", at ", LineOf(error.place(), kMostName));
  absl::MutexLock lock(&mu_);
  failures_[name] = {sentence, now};
  if (failures_.size() > kMostWorkers) {
    failures_.erase(
        std::min_element(failures_.begin(), failures_.end(),
                         [](const auto& a, const auto& b) { return a.second.at < b.second.at; }));
  }
  return sentence;
}

void ProgramFailures::Forget(const std::string& worker) {
  absl::MutexLock lock(&mu_);
  failures_.erase(LineOf(worker, kMostName));
}

std::vector<std::string> ProgramFailures::Told(absl::Time now) const {
  absl::MutexLock lock(&mu_);
  std::vector<std::string> told;
  for (const auto& [worker, failure] : failures_) {
    if (now - failure.at < kKept) told.push_back(failure.sentence);
  }
  return told;
}

}  // namespace capstan::chief
