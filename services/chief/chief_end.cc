// ChiefMachine: the way out, step by step; see EndStep.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
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
      return closer_.complete();
    case EndStep::kEvaluate:
      if (!evaluations_.enabled() || evaluations_.has_final()) return true;
      if (!evaluations_.running()) BeginEvaluation(/*at_boundary=*/true, /*final=*/true, now);
      return false;
    case EndStep::kSave:
      return !calls_.Pending(Purpose::kSave);
    case EndStep::kNone:
    case EndStep::kManifest:
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
      SendToAll(Purpose::kFlush, v1::FlushRequest(), options_.call_deadline);
      break;
    case EndStep::kSave:
      Save(now);
      break;
    case EndStep::kManifest:
      actions_.push_back(WriteManifest{end_.model_uri, ManifestOfEnd()});
      break;
    case EndStep::kNone:
    case EndStep::kBoundary:
    case EndStep::kClose:
    case EndStep::kEvaluate:
      break;
  }
}

void ChiefMachine::SendToAll(Purpose purpose, const ShardRequest& request,
                             absl::Duration deadline) {
  for (uint32_t shard : ShardIndexes()) calls_.Send(purpose, shard, request, deadline);
}

void ChiefMachine::Save(absl::Time now) {
  if (plan_.spec.checkpoint().uri().empty()) {
    Complete(now);
    return;
  }
  state_ = v1::JOB_STATE_CHECKPOINTING;
  const absl::string_view prefix = absl::StripSuffix(plan_.spec.checkpoint().uri(), "/");
  end_.model_uri = absl::StrFormat("%s/%s/checkpoints/%012d-%08x", prefix, plan_.spec.job(),
                                   progress_.steps(), options_.run_id & 0xFFFFFFFF);
  v1::SavePartitionsRequest request;
  request.set_uri(end_.model_uri);
  SendToAll(Purpose::kSave, request, options_.save_deadline);
}

v1::Manifest ChiefMachine::ManifestOfEnd() const {
  v1::Manifest manifest;
  manifest.set_id(end_.model_uri.substr(end_.model_uri.rfind('/') + 1));
  manifest.set_step(progress_.steps());
  manifest.set_timeline(views_.current().timeline());
  *manifest.mutable_job() = plan_.spec;
  manifest.mutable_progress()->set_data_epoch(work_.totals().epochs_done);
  manifest.mutable_progress()->set_examples(progress_.examples());
  std::vector<v1::SavedFile> files = end_.files;
  std::sort(files.begin(), files.end(),
            [](const auto& a, const auto& b) { return a.partition() < b.partition(); });
  manifest.mutable_files()->Assign(files.begin(), files.end());
  if (evaluations_.has_final()) {
    *manifest.mutable_metrics() = evaluations_.history().back().metrics();
  }
  return manifest;
}

void ChiefMachine::OnManifestWritten(const absl::Status& written, absl::Time now) {
  if (end_.step != EndStep::kManifest || ended()) return;
  if (!written.ok()) {
    Fail(v1::FAILURE_KIND_ERROR,
         absl::StrCat("the model's manifest was not written: ", written.message()));
    RefreshView(now);
    return;
  }
  Complete(now);
}

void ChiefMachine::Complete(absl::Time now) {
  AddCurvePoint({}, now);
  state_ = v1::JOB_STATE_COMPLETED;
  completed_ = now;
  Log(LogEvent::Level::kInfo, "the job is completed",
      {{"examples", absl::StrCat(progress_.examples())},
       {"seconds", absl::StrFormat("%.1f", progress_.elapsed_seconds(now))},
       {"model", end_.model_uri.empty() ? "not written" : end_.model_uri}});
  RefreshView(now);
}

}  // namespace capstan::chief
