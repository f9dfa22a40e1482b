#include "chief/work/held_out.h"

#include <google/protobuf/util/message_differencer.h>

#include <algorithm>
#include <string_view>

#include "capstan/base/hash.h"

namespace capstan::chief {
namespace {

using google::protobuf::util::MessageDifferencer;

class Print {
 public:
  void Add(uint64_t number) { value_ = Mix64(value_ ^ number) + 1; }
  void Add(std::string_view text) { Add(HashText(text)); }
  // Never 0, which is what an earlier version has stored, and never kUnknownHeldOut.
  uint64_t value() const { return std::clamp<uint64_t>(value_, 1, kUnknownHeldOut - 1); }

 private:
  uint64_t value_ = 0;
};

}  // namespace

uint64_t HeldOutFingerprint(const JobPlan& plan) {
  if (plan.eval.empty()) return 0;
  const v1::DataSpec& data = plan.spec.data();
  Print print;
  for (const v1::TaskRun& run : plan.eval.runs()) {
    print.Add(run.file());
    print.Add(run.labels_file());
    print.Add(run.by_records() ? 1 : 0);
    print.Add(run.begin());
    print.Add(run.end());
  }
  for (const v1::EvalSet& set : data.eval_sets()) {
    print.Add(set.name());
    print.Add(set.files());
  }
  // Which entries belong to which set, as an entry may match many files.
  if (data.eval_sets_size() > 0) {
    for (const std::string& entry : data.eval()) print.Add(entry);
  }
  if (!data.has_group()) return print.value();
  print.Add(data.group().name());
  print.Add(data.group().column());
  return print.value();
}

bool SameHeldOut(const v1::JobSpec& before, const v1::JobSpec& now) {
  const auto held_out_of = [](const v1::JobSpec& job) {
    v1::DataSpec data;
    *data.mutable_eval() = job.data().eval();
    *data.mutable_eval_sets() = job.data().eval_sets();
    if (job.data().has_group()) *data.mutable_group() = job.data().group();
    return data;
  };
  return MessageDifferencer::Equals(held_out_of(before), held_out_of(now));
}

uint64_t MeasuredOn(uint64_t stored, const v1::JobSpec& before, const JobPlan& plan) {
  if (stored != 0) return stored;
  return SameHeldOut(before, plan.spec) ? HeldOutFingerprint(plan) : kUnknownHeldOut;
}

}  // namespace capstan::chief
