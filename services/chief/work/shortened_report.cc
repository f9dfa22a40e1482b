#include "chief/work/shortened_report.h"

#include <algorithm>
#include <cstddef>
#include <string>

#include "capstan/base/quote.h"

namespace capstan::chief {
namespace {

constexpr char kCut[] = "...";
constexpr size_t kMostError = 4096;  // Bytes.
constexpr size_t kMostExample = 1024;
constexpr size_t kMostTraceback = 4096;
constexpr int kMostExamples = 10;  // As many as BadRecordCount keeps.

void CutEnd(std::string& text, size_t most) {
  if (text.size() > most) text = FirstBytes(text, most - (sizeof(kCut) - 1)) + kCut;
}

void CutBegin(std::string& text, size_t most) {
  if (text.size() > most) text = kCut + LastBytes(text, most - (sizeof(kCut) - 1));
}

// `Report` is a LeaseReport or a LaneTaskDone.
template <typename Report>
bool HasLongExamples(const Report& report) {
  const auto& examples = report.bad_record_examples();
  return examples.size() > kMostExamples ||
         std::any_of(examples.begin(), examples.end(),
                     [](const std::string& example) { return example.size() > kMostExample; });
}

template <typename Report>
void CutExamples(Report& report) {
  auto& examples = *report.mutable_bad_record_examples();
  if (examples.size() > kMostExamples) {
    examples.DeleteSubrange(kMostExamples, examples.size() - kMostExamples);
  }
  for (std::string& example : examples) CutEnd(example, kMostExample);
}

bool IsLong(const v1::LeaseReport& report) {
  const v1::UserCodeError& error = report.user_code();
  const auto& done = report.lane_tasks_done();
  return report.error().size() > kMostError || HasLongExamples(report) ||
         std::any_of(done.begin(), done.end(), HasLongExamples<v1::LaneTaskDone>) ||
         std::max({error.type().size(), error.place().size(), error.message().size()}) >
             kMostExample ||
         error.traceback().size() > kMostTraceback;
}

}  // namespace

std::optional<v1::LeaseReport> Shortened(const v1::LeaseReport& report) {
  if (!IsLong(report)) return std::nullopt;
  v1::LeaseReport cut = report;
  CutEnd(*cut.mutable_error(), kMostError);
  CutExamples(cut);
  for (v1::LaneTaskDone& done : *cut.mutable_lane_tasks_done()) CutExamples(done);
  if (!cut.has_user_code()) return cut;
  v1::UserCodeError& error = *cut.mutable_user_code();
  for (std::string* text : {error.mutable_type(), error.mutable_place(), error.mutable_message()}) {
    CutEnd(*text, kMostExample);
  }
  CutBegin(*error.mutable_traceback(), kMostTraceback);
  return cut;
}

}  // namespace capstan::chief
