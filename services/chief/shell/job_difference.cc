#include "chief/shell/job_difference.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "capstan/base/check.h"
#include "capstan/config/declared_keys.h"
#include "capstan/data/tasks/measure_data.h"
#include "chief/shell/change_text.h"
#include "chief/work/held_out.h"

namespace capstan::chief {
namespace {

// Clears a field by its path. Creates the messages on the path, so that two jobs of which only one
// had them do not differ because of that.
void ClearPath(const std::string& path, google::protobuf::Message& message) {
  const size_t point = path.find('.');
  const google::protobuf::FieldDescriptor* const field =
      message.GetDescriptor()->FindFieldByName(path.substr(0, point));
  CAPSTAN_CHECK(field != nullptr);
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  if (point == path.npos) return reflection.ClearField(&message, field);
  ClearPath(path.substr(point + 1), *reflection.MutableMessage(&message, field));
}

// Returns `spec` without the settings that may change while the job exists: where it is stored, how
// it is monitored, how fast it runs, when it is evaluated and ends.
v1::JobSpec WhatMatters(v1::JobSpec spec) {
  ClearPath("checkpoint.uri", spec);
  for (const std::string& field : FieldsThatMayChange()) ClearPath(field, spec);
  return spec;
}

std::string Difference(const v1::JobSpec& before, const v1::JobSpec& now) {
  return ChangeText(before, AsBegun(before, now));
}

// The seed is reported because rows begin with other values under another seed.
std::string TableText(const v1::TableSpec& table) {
  return absl::StrCat("table ", table.name(), " of ", table.dim(), " floats a row (seed ",
                      table.seed(), ")");
}

std::string ShapeText(const v1::TensorSpec& tensor) { return absl::StrJoin(tensor.shape(), "x"); }

bool OfAnotherPlace(const v1::JobSpec& running, const v1::JobSpec& wanted) {
  return wanted.job() != running.job() || wanted.checkpoint().uri() != running.checkpoint().uri();
}

// What else follows from a change that is applied; empty if nothing is lost by it.
std::string LossBy(const v1::JobSpec& running, const v1::JobSpec& asked) {
  const bool evaluated = !running.data().eval().empty() && !asked.data().eval().empty();
  if (!evaluated || SameHeldOut(running, asked)) return "";
  return ", but the best model and early stopping begin anew with the first evaluation of the "
         "other held-out records";
}

}  // namespace

v1::JobSpec AsBegun(const v1::JobSpec& before, v1::JobSpec now) {
  if (!now.has_data()) return now;
  v1::DataSpec& data = *now.mutable_data();
  if (before.data().pieces() == 0) data.clear_pieces();
  data.set_numbered_in_order(before.data().numbered_in_order());
  return now;
}

std::string JobDifference(const v1::JobSpec& before, const v1::JobSpec& now) {
  return Difference(WhatMatters(before), WhatMatters(now));
}

bool WantsMoreEpochs(const v1::JobSpec& before, const v1::JobSpec& now) {
  if (now.train().epochs() <= before.train().epochs()) return false;
  v1::JobSpec as_long = before;
  as_long.mutable_train()->set_epochs(now.train().epochs());
  return JobDifference(as_long, now).empty();
}

std::string ModelDifference(const v1::JobSpec& other, const v1::JobSpec& now) {
  for (int i = 0; i < std::max(other.tables_size(), now.tables_size()); ++i) {
    const std::string there = i < other.tables_size() ? TableText(other.tables(i)) : "no table";
    const std::string here = i < now.tables_size() ? TableText(now.tables(i)) : "no table";
    if (there != here) return absl::StrCat("it has ", there, ", this job ", here);
  }
  for (int i = 0; i < std::max(other.tensors_size(), now.tensors_size()); ++i) {
    const std::string there = i < other.tensors_size() ? ShapeText(other.tensors(i)) : "";
    const std::string here = i < now.tensors_size() ? ShapeText(now.tensors(i)) : "";
    if (there == here) continue;
    const auto text = [i](const v1::JobSpec& spec, const std::string& shape) {
      return i < spec.tensors_size()
                 ? absl::StrCat("tensor ", spec.tensors(i).name(), " of ", shape)
                 : absl::StrCat("no tensor ", i);
    };
    return absl::StrCat("it has ", text(other, there), ", this job ", text(now, here));
  }
  return "";
}

std::string JobChange(const v1::JobSpec& running, const absl::StatusOr<v1::JobSpec>& wanted) {
  if (!wanted.ok()) {
    return absl::StrCat("refused, the job goes on as it was; the file has mistakes:\n",
                        wanted.status().message());
  }
  v1::JobSpec asked = *wanted;
  if (LacksMeasures(asked.data())) AdoptMeasures(running.data(), *asked.mutable_data());
  const std::string all = Difference(running, asked);
  if (all.empty()) return "";
  if (OfAnotherPlace(running, asked)) {
    return absl::StrCat(
        "another job, which belongs in a release of its own; this one goes on as it was:\n", all);
  }
  const std::string serious = JobDifference(running, asked);
  if (serious.empty() || WantsMoreEpochs(running, asked)) {
    return absl::StrCat("taken up when the chief is started again; nothing is lost by that",
                        LossBy(running, asked), ":\n", all);
  }
  return absl::StrCat(
      "refused, the job goes on as it was; --fresh-once (chart: chief.freshStart) starts over with "
      "it, another job name begins beside it, and --from (chart: chief.from) has either begin with "
      "the parameters of a checkpoint:\n",
      serious);
}

}  // namespace capstan::chief
