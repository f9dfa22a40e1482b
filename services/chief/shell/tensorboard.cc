#include "chief/shell/tensorboard.h"

#include "absl/strings/str_cat.h"
#include "capstan/data/formats/tfrecord.h"
#include "capstan/v1/tensorboard.pb.h"

namespace capstan::chief {
namespace {

constexpr char kFileVersion[] = "brain.Event:2";

v1::TensorBoardEvent EventAt(absl::Time now, uint64_t step) {
  v1::TensorBoardEvent event;
  event.set_wall_time(absl::ToDoubleSeconds(now - absl::UnixEpoch()));
  event.set_step(static_cast<int64_t>(step));
  return event;
}

void Add(const std::string& tag, double value, v1::TensorBoardSummary& summary) {
  v1::TensorBoardValue& added = *summary.add_value();
  added.set_tag(tag);
  added.set_simple_value(static_cast<float>(value));
}

}  // namespace

std::string TensorBoardEvents::Begin(const std::string& before, absl::Time now) {
  const size_t whole = WholeTfRecords(before);
  if (whole > 0) return before.substr(0, whole);
  v1::TensorBoardEvent event = EventAt(now, 0);
  event.set_file_version(kFileVersion);
  return ToTfRecord(event.SerializeAsString());
}

std::string TensorBoardEvents::Append(const AppendCurve& point, absl::Time now) {
  std::string records;
  if (!last_step_ || point.step < *last_step_) {
    v1::TensorBoardEvent start = EventAt(now, point.step);
    start.mutable_session_log()->set_status(v1::TensorBoardSession::STATUS_START);
    records = ToTfRecord(start.SerializeAsString());
  }
  last_step_ = point.step;
  v1::TensorBoardEvent event = EventAt(now, point.step);
  v1::TensorBoardSummary& summary = *event.mutable_summary();
  if (point.loss) Add("train/loss", *point.loss, summary);
  Add("train/examples", static_cast<double>(point.examples), summary);
  Add("train/examples_per_second", point.examples_per_second, summary);
  for (const auto& [name, value] : point.evaluation.metrics()) {
    Add(absl::StrCat("eval/", name), value, summary);
  }
  return records + ToTfRecord(event.SerializeAsString());
}

}  // namespace capstan::chief
