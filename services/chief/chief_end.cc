// ChiefMachine: the way out, step by step; see EndStep.

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "capstan/base/failpoint.h"
#include "chief/chief_machine.h"

namespace capstan::chief {
namespace {

EndStep Next(EndStep step) { return static_cast<EndStep>(static_cast<int>(step) + 1); }

}  // namespace

void ChiefMachine::AdvanceEnd(absl::Time now) {
  while (!ended() && end_.begun() && EndStepDone(now)) EnterEndStep(Next(end_.step), now);
}

bool ChiefMachine::EndStepDone(absl::Time now) {
  switch (end_.step) {
    case EndStep::kBoundary:
      if (!work_.has_lanes()) return true;
      boundary_.Seek(views_.keeper(), options_.call_deadline, calls_);
      return boundary_.reached();
    case EndStep::kDrain:
      return end_.draining.empty();
    case EndStep::kFlush:
      return !calls_.Pending(Purpose::kFlush);
    case EndStep::kClose:
      return closes_.empty() && closer_.complete();
    case EndStep::kEvaluate:
      if (!evaluations_.enabled() || evaluations_.has_final()) return true;
      if (!evaluations_.running()) BeginEvaluation(/*at_boundary=*/true, /*final=*/true, now);
      return false;
    case EndStep::kSave:
      return SaveModel(now);
    case EndStep::kNone:
      return false;
  }
  return false;
}

void ChiefMachine::EnterEndStep(EndStep step, absl::Time now) {
  end_.step = step;
  switch (step) {
    case EndStep::kDrain:
      for (const auto& [name, worker] : workers_.live()) {
        for (const Member& member : worker.members) {
          if (work_.Holds(member.id)) end_.draining.insert(name);
        }
      }
      work_.ReleaseAll();
      break;
    case EndStep::kFlush:
      for (uint32_t shard : ShardIndexes()) {
        calls_.Send(Purpose::kFlush, shard, v1::FlushRequest(), options_.call_deadline);
      }
      break;
    case EndStep::kSave:
      end_.save_begun = now;
      break;
    case EndStep::kNone:
    case EndStep::kBoundary:
    case EndStep::kClose:
    case EndStep::kEvaluate:
      break;
  }
}

// One attempt after another, for as long as the last one may take. Never done: Complete() ends it.
bool ChiefMachine::SaveModel(absl::Time now) {
  if (!checkpointer_.enabled()) {
    Complete(now);
    return false;
  }
  state_ = v1::JOB_STATE_CHECKPOINTING;
  CAPSTAN_FAILPOINT("model.saving");
  if (checkpointer_.running()) return false;
  if (now - end_.save_begun > options_.save_patience) {
    Fail(v1::FAILURE_KIND_ERROR,
         absl::StrCat("the model cannot be saved: ", checkpointer_.last_failure().ToString()));
    return false;
  }
  if (!alone_.empty() || !checkpointer_.MayBegin(now)) return false;
  end_.saving = true;
  BeginCheckpoint(now);
  return false;
}

void ChiefMachine::Complete(absl::Time now) {
  CAPSTAN_FAILPOINT("model.saved");
  AddCurvePoint({}, now);
  state_ = v1::JOB_STATE_COMPLETED;
  completed_ = now;
  completion_ = keeper_.Require();
  AnswerAskers(absl::FailedPreconditionError("the job is completed"));
  Log(LogEvent::Level::kInfo, "the job is completed",
      {{"examples", absl::StrCat(progress_.examples())},
       {"seconds", absl::StrFormat("%.1f", progress_.elapsed_seconds(now))},
       {"model", model_uri_.empty() ? "not written" : model_uri_}});
  RefreshView(now);
}

}  // namespace capstan::chief
