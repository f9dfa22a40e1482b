#include "chief/shell/train_data.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "capstan/data/tasks/tasks.h"

namespace capstan::chief {
namespace {

constexpr size_t kNamed = 3;  // How many files a list names; there may be thousands.

struct Length {
  uint64_t end = 0;   // Bytes, or records.
  bool known = true;  // False if a range of the file is open-ended.
};

std::map<std::string, Length> LengthsOf(const TaskRanges& ranges) {
  std::map<std::string, Length> lengths;
  for (const v1::TaskRun& run : ranges.runs()) {
    Length& length = lengths[run.file()];
    length.known = length.known && !run.open();
    length.end = std::max(length.end, run.end());
  }
  return lengths;
}

std::string Named(const std::vector<std::string>& files, const char* what) {
  const size_t named = std::min(files.size(), kNamed);
  return absl::StrCat(files.size(), files.size() == 1 ? " file " : " files ", what, " (",
                      absl::StrJoin(files.begin(), files.begin() + named, ", "),
                      named < files.size() ? ", ...)" : ")");
}

}  // namespace

std::string TrainDataChange::ToString() const {
  std::vector<std::string> parts;
  for (const auto& [files, what] : {std::pair(&more, "more"), std::pair(&longer, "longer"),
                                    std::pair(&gone, "gone"), std::pair(&shorter, "shorter")}) {
    if (!files->empty()) parts.push_back(Named(*files, what));
  }
  return absl::StrJoin(parts, ", ");
}

TrainDataChange CompareTrainData(const TaskRanges& begun, const TaskRanges& now) {
  const std::map<std::string, Length> before = LengthsOf(begun);
  const std::map<std::string, Length> after = LengthsOf(now);
  TrainDataChange change;
  for (const auto& [file, length] : before) {
    const auto found = after.find(file);
    if (found == after.end()) {
      change.gone.push_back(file);
    } else if (length.known && found->second.known && found->second.end != length.end) {
      (found->second.end < length.end ? change.shorter : change.longer).push_back(file);
    }
  }
  for (const auto& [file, length] : after) {
    if (!before.contains(file)) change.more.push_back(file);
  }
  return change;
}

std::string TrainDataNote(const TrainDataChange& change) {
  if (change.empty()) return "";
  return absl::StrCat("the training data are others by now: ", change.ToString(),
                      "; the job goes on with those that it has begun with; --fresh-once (chart: "
                      "chief.freshStart) starts over with these\n");
}

}  // namespace capstan::chief
