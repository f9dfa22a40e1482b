#include "chief/shell/odd_workers.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "capstan/base/member_states.h"
#include "capstan/base/quote.h"
#include "chief/state/warnings.h"

namespace capstan::chief {
namespace {

constexpr size_t kMostBytes = 1000;  // The length at which a sentence is cut.

std::string NamesOf(const std::vector<std::string>& names) {
  if (names.size() == 1) return names.front();
  return absl::StrCat(names.front(), " and ", names.size() - 1, " more");
}

}  // namespace

void OddWorkers::Note(const std::string& worker, const std::string& sentence) {
  absl::MutexLock lock(&mu_);
  if (sentence.empty()) {
    sentences_.erase(worker);
  } else if (sentences_.size() < kMost || sentences_.contains(worker)) {
    sentences_[worker] = FirstBytes(sentence, kMostBytes);
  }
}

void OddWorkers::AddTo(v1::GetStatusReply& status) const {
  std::map<std::string, std::vector<std::string>> names;  // By sentence.
  {
    absl::MutexLock lock(&mu_);
    for (const v1::WorkerStatus& worker : status.workers()) {
      const auto found = sentences_.find(worker.name());
      if (found == sentences_.end() || worker.state() == worker_state::kLost) continue;
      names[found->second].push_back(worker.name());
    }
  }
  size_t told = 0;
  for (const auto& [sentence, workers] : names) {
    if (told++ == kMostTold) break;
    AddWarning(sentence, absl::StrCat(NamesOf(workers), ": ", sentence), status);
  }
  if (names.size() > kMostTold) {
    const char* const about = " more warnings of bits that depend on who works";
    AddWarning(about, absl::StrCat(names.size() - kMostTold, about), status);
  }
}

}  // namespace capstan::chief
