#include "capstan/client/job_client.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "capstan/base/status.h"
#include "capstan/base/worth_repeating.h"
#include "capstan/client/answered_partitions.h"
#include "capstan/consistency/decisions.h"
#include "capstan/optim/vector_math.h"
#include "capstan/rpc/status.h"

namespace capstan {
namespace {

constexpr absl::Duration kGlance = absl::Milliseconds(100);
constexpr absl::Duration kCallTimeout = absl::Seconds(5);
// PullRows pulls this many bytes at a time, so that the share of one partition fits into a message.
constexpr size_t kSliceBytes = size_t{4} << 20;

// Returns true if the same request may get another answer a little later. This includes
// FAILED_PRECONDITION: the partition is moving to another shard, or the shard's process was
// replaced.
bool MayPass(const absl::Status& failure) {
  return IsWorthRepeating(failure) || absl::IsFailedPrecondition(failure);
}

// A process that ends cancels the calls to it; that is temporary, so it becomes UNAVAILABLE. In
// this file CANCELLED only means that the caller has interrupted the call.
absl::Status OfPeer(const absl::Status& answer) {
  if (!absl::IsCancelled(answer)) return answer;
  return absl::UnavailableError("the call was cancelled there");
}

// Returns the index of `name` in `specs`, a list of `job`.
template <typename Specs>
absl::StatusOr<int> Find(const v1::JobSpec& job, const Specs& specs, const char* what,
                         const std::string& name) {
  const auto found = std::find_if(specs.begin(), specs.end(),
                                  [&name](const auto& spec) { return spec.name() == name; });
  if (found != specs.end()) return static_cast<int>(found - specs.begin());
  const auto append = [](std::string* out, const auto& spec) { out->append(spec.name()); };
  return absl::NotFoundError(
      absl::StrCat("job ", job.job(), " has no ", what, " \"", name, "\"; ",
                   specs.empty() ? "it has none" : "it has " + absl::StrJoin(specs, ", ", append)));
}

uint64_t ElementsOf(const v1::TensorSpec& tensor) {
  uint64_t elements = 1;
  for (const uint32_t extent : tensor.shape()) elements *= extent;
  return elements;
}

// The versions that a push of this client names as pulled: no shard is ahead of them, so the
// gradient is not stale.
constexpr std::array<uint64_t, kParts> kPresent = {std::numeric_limits<uint64_t>::max(),
                                                   std::numeric_limits<uint64_t>::max()};

absl::Status CheckPolicy(const v1::UpdatePolicy& policy, const char* what) {
  if (IsSync(policy)) {
    return absl::InvalidArgumentError(
        absl::StrCat(what,
                     " of this job are updated in synchronous rounds, which consist of the "
                     "gradients of its lanes alone"));
  }
  if (policy.stale_gradients() != v1::STALE_GRADIENTS_COMPENSATE) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(what,
                   " of this job are updated with stale_gradients: compensate, for which a "
                   "gradient comes with what it was computed from, as a trainer's does"));
}

// Shards also refuse gradients that are not finite, but other shards may have applied their part by
// then.
absl::Status CheckGradient(const std::string& of, absl::Span<const float> values, size_t wanted) {
  if (values.size() != wanted) {
    return absl::InvalidArgumentError(
        absl::StrCat(of, ": a gradient of ", values.size(), " values, and there are ", wanted));
  }
  if (AllFinite(values.data(), values.size())) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(of, ": a gradient holds NaN or infinity"));
}

// Returns the index of `tensor` in the job if a push of this gradient for it is allowed.
absl::StatusOr<uint32_t> PlaceOfGradient(const v1::JobSpec& job, const std::string& tensor,
                                         absl::Span<const float> gradient) {
  CAPSTAN_RETURN_IF_ERROR(CheckPolicy(job.dense_update(), "the tensors"));
  CAPSTAN_ASSIGN_OR_RETURN(const int place, Find(job, job.tensors(), "tensor", tensor));
  const v1::TensorSpec& spec = job.tensors(place);
  if (spec.role() != v1::TENSOR_ROLE_UNSPECIFIED) {
    return absl::InvalidArgumentError(absl::StrCat("tensor ", tensor, " is not trained"));
  }
  CAPSTAN_RETURN_IF_ERROR(CheckGradient("tensor " + tensor, gradient, ElementsOf(spec)));
  return static_cast<uint32_t>(place);
}

absl::Status CheckTrains(v1::JobState state) {
  switch (state) {
    case v1::JOB_STATE_RUNNING:
      return absl::OkStatus();
    case v1::JOB_STATE_CHECKPOINTING:
    case v1::JOB_STATE_COMPLETED:
    case v1::JOB_STATE_FAILED:
      return absl::AbortedError("the job is over: its model does not change any more");
    default:
      return absl::UnavailableError("the job does not train yet");
  }
}

// Returns OK if the push is settled, and otherwise an error.
absl::Status StatusOf(const PushResult& result) {
  if (!result.status.ok()) return result.status;
  for (int outcome = 0; outcome < v1::Outcome_ARRAYSIZE; ++outcome) {
    const auto of = static_cast<v1::Outcome>(outcome);
    if (result.count(of) == 0 || IsSettled(of)) continue;
    return WithRetryAfter(
        absl::FailedPreconditionError(absl::StrCat("a shard answers ", v1::Outcome_Name(of))),
        result.retry_after);
  }
  return absl::OkStatus();
}

// Records that `shard` has settled all partitions that were pushed to it.
void NoteSettled(const RequestPlan& plan, ShardIndex shard, AnsweredPartitions& answered) {
  for (const RequestPlan::Chunk& chunk : plan.ChunksOf(shard)) {
    for (const uint32_t partition : chunk.partitions) answered.Add(partition, {});
  }
}

absl::Status HasChanged(const std::string& name) {
  return absl::AbortedError(absl::StrCat("the job was begun anew with another ", name));
}

}  // namespace

absl::StatusOr<std::unique_ptr<JobClient>> JobClient::Create(JobClientOptions options) {
  CAPSTAN_ASSIGN_OR_RETURN(std::unique_ptr<const Tls> tls, Tls::Load(options.tls));
  return std::unique_ptr<JobClient>(new JobClient(std::move(options), std::move(tls)));
}

JobClient::JobClient(JobClientOptions options, std::unique_ptr<const Tls> tls)
    : options_(std::move(options)),
      tls_(std::move(tls)),
      follower_(loop_, options_.chief, *options_.resolver, tls_.get()) {}

absl::StatusOr<v1::GetStatusReply> JobClient::Status() {
  absl::MutexLock lock(&mu_);
  const absl::Time deadline = clock_.Now() + options_.chief_patience;
  while (true) {
    absl::StatusOr<v1::GetStatusReply> reply = AskStatus();
    if (reply.ok()) return reply;
    CAPSTAN_RETURN_IF_ERROR(Pause(reply.status(), deadline, options_.chief_patience));
  }
}

absl::StatusOr<v1::GetStatusReply> JobClient::AskStatus() {
  CAPSTAN_ASSIGN_OR_RETURN(const Channel chief, follower_.Chief());
  // Shared, as the call may end after an interruption has ended the wait for it.
  const auto reply = std::make_shared<std::optional<absl::StatusOr<v1::GetStatusReply>>>();
  loop_.Call<v1::GetStatusReply>(
      chief, "/capstan.v1.Chief/GetStatus", v1::GetStatusRequest(), kCallTimeout,
      [reply](absl::StatusOr<v1::GetStatusReply> answer) { *reply = std::move(answer); });
  CAPSTAN_RETURN_IF_ERROR(Await([&reply] { return reply->has_value(); }));
  if (!(*reply)->ok()) return OfPeer((*reply)->status());
  return std::move(***reply);
}

absl::StatusOr<v1::JobSpec> JobClient::Describe() {
  absl::MutexLock lock(&mu_);
  CAPSTAN_ASSIGN_OR_RETURN(const v1::JobSpec* const job, Learn());
  return *job;
}

absl::StatusOr<std::vector<float>> JobClient::PullRows(const std::string& table,
                                                       absl::Span<const uint64_t> keys) {
  absl::MutexLock lock(&mu_);
  CAPSTAN_ASSIGN_OR_RETURN(const v1::JobSpec* const known, Learn());
  CAPSTAN_ASSIGN_OR_RETURN(const int place, Find(*known, known->tables(), "table", table));
  const size_t dim = known->tables(place).dim();
  const size_t slice = std::max<size_t>(1, kSliceBytes / (dim * sizeof(float) + sizeof(uint64_t)));
  std::vector<float> rows(keys.size() * dim);
  for (size_t begin = 0; begin < keys.size(); begin += slice) {
    const TableKeys wanted{static_cast<size_t>(place), keys.subspan(begin, slice)};
    std::vector<float*> matrices;  // By table.
    const auto fill = [&](const v1::JobSpec& job, RequestPlan& plan) -> absl::StatusOr<PullTarget> {
      const bool same = place < job.tables_size() && job.tables(place).name() == table &&
                        job.tables(place).dim() == dim;
      if (!same) return HasChanged(table);
      plan.Build({&wanted, 1}, /*dense=*/false);
      matrices.assign(static_cast<size_t>(job.tables_size()), nullptr);
      matrices[wanted.table] = rows.data() + begin * dim;
      return PullTarget{.rows = matrices};
    };
    CAPSTAN_RETURN_IF_ERROR(Pull(fill));
  }
  return rows;
}

absl::StatusOr<std::vector<float>> JobClient::PullTensor(const std::string& tensor) {
  absl::MutexLock lock(&mu_);
  CAPSTAN_ASSIGN_OR_RETURN(const v1::JobSpec* const known, Learn());
  CAPSTAN_ASSIGN_OR_RETURN(const int place, Find(*known, known->tensors(), "tensor", tensor));
  std::vector<float> values(ElementsOf(known->tensors(place)));
  const auto fill = [&](const v1::JobSpec& job, RequestPlan& plan) -> absl::StatusOr<PullTarget> {
    const bool same = place < job.tensors_size() && job.tensors(place).name() == tensor &&
                      ElementsOf(job.tensors(place)) == values.size();
    if (!same) return HasChanged(tensor);
    const auto of = static_cast<uint32_t>(place);
    plan.BuildTensor(of);
    return PullTarget{.dense = values.data(),
                      .dense_offset = plan.map().layout().tensor_offset(of)};
  };
  CAPSTAN_RETURN_IF_ERROR(Pull(fill));
  return values;
}

absl::StatusOr<uint64_t> JobClient::PushRows(const StreamPush& name,
                                             absl::Span<const TableGradients> tables) {
  absl::MutexLock lock(&mu_);
  CAPSTAN_RETURN_IF_ERROR(Learn().status());
  std::vector<const float*> matrices;  // By table.
  return Push(name, [&](const v1::JobSpec& job, RequestPlan& plan) -> absl::StatusOr<PushSource> {
    CAPSTAN_RETURN_IF_ERROR(CheckPolicy(job.sparse_update(), "the tables"));
    matrices.assign(static_cast<size_t>(job.tables_size()), nullptr);
    std::vector<TableKeys> keys;
    for (const TableGradients& of : tables) {
      CAPSTAN_ASSIGN_OR_RETURN(const int place, Find(job, job.tables(), "table", of.table));
      CAPSTAN_RETURN_IF_ERROR(
          CheckGradient("table " + of.table, of.values, of.keys.size() * job.tables(place).dim()));
      keys.push_back({static_cast<size_t>(place), of.keys});
      matrices[keys.back().table] = of.values.data();
    }
    plan.Build(keys, /*dense=*/false);
    return PushSource{.rows = matrices};
  });
}

absl::Status JobClient::CheckTensor(const std::string& tensor, absl::Span<const float> gradient) {
  absl::MutexLock lock(&mu_);
  CAPSTAN_ASSIGN_OR_RETURN(const v1::JobSpec* const job, Learn());
  return PlaceOfGradient(*job, tensor, gradient).status();
}

absl::StatusOr<uint64_t> JobClient::PushTensor(const StreamPush& name, const std::string& tensor,
                                               absl::Span<const float> gradient) {
  absl::MutexLock lock(&mu_);
  CAPSTAN_RETURN_IF_ERROR(Learn().status());
  return Push(name, [&](const v1::JobSpec& job, RequestPlan& plan) -> absl::StatusOr<PushSource> {
    CAPSTAN_ASSIGN_OR_RETURN(const uint32_t place, PlaceOfGradient(job, tensor, gradient));
    plan.BuildTensor(place);
    return PushSource{.dense = gradient.data(),
                      .dense_offset = plan.map().layout().tensor_offset(place)};
  });
}

absl::StatusOr<const v1::JobSpec*> JobClient::Learn() {
  const absl::Time deadline = clock_.Now() + options_.chief_patience;
  while (true) {
    follower_.Follow();
    CAPSTAN_RETURN_IF_ERROR(Await([this]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
      return follower_.job() != nullptr || !follower_.status().ok();
    }));
    if (follower_.job() != nullptr) return follower_.job();
    CAPSTAN_RETURN_IF_ERROR(Pause(OfPeer(follower_.status()), deadline, options_.chief_patience));
  }
}

absl::Status JobClient::Repeat(absl::FunctionRef<absl::Status()> attempt) {
  const absl::Time deadline = clock_.Now() + options_.pull_patience;
  while (true) {
    follower_.Follow();
    (void)loop_.Poll(absl::ZeroDuration());  // Takes in views that have arrived.
    const absl::Status status = attempt();
    if (status.ok()) return absl::OkStatus();
    CAPSTAN_RETURN_IF_ERROR(Pause(status, deadline, options_.pull_patience));
  }
}

absl::Status JobClient::Pull(Fill fill) {
  return Repeat([&]() ABSL_NO_THREAD_SAFETY_ANALYSIS -> absl::Status {
    CAPSTAN_ASSIGN_OR_RETURN(JobFollower::Known* const known, follower_.Adopt());
    PsClient& shards = *known->shards;
    RequestPlan plan(known->map);
    CAPSTAN_ASSIGN_OR_RETURN(const PullTarget target, fill(known->job, plan));
    return AskShards(shards, plan, [&](ShardIndex shard, auto done) {
      return shards.Pull(
          shard, plan, {.evaluation = true, .timeout = kCallTimeout}, target,
          [done = std::move(done)](const PullResult& result) mutable { done(result.status); });
    });
  });
}

absl::StatusOr<uint64_t> JobClient::Push(const StreamPush& name, FillPush fill) {
  AnsweredPartitions answered;
  uint64_t timeline = 0;
  const auto attempt = [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS -> absl::Status {
    CAPSTAN_ASSIGN_OR_RETURN(JobFollower::Known* const known, follower_.Adopt());
    PsClient& shards = *known->shards;
    CAPSTAN_RETURN_IF_ERROR(CheckTrains(shards.view().state()));
    // What was applied before a return to a checkpoint may be undone, so everything is pushed
    // again; the shards' ledgers know what is still applied.
    if (shards.view().timeline() != timeline) answered.Clear();
    timeline = shards.view().timeline();
    RequestPlan plan(known->map);
    CAPSTAN_ASSIGN_OR_RETURN(PushSource source, fill(known->job, plan));
    const PartitionVersions present(known->map.partition_count(), kPresent);
    source.versions = &present;
    const PushOptions options{.stream = name, .timeout = kCallTimeout, .answered = &answered};
    return AskShards(shards, plan, [&](ShardIndex shard, auto done) {
      return shards.Push(shard, plan, options, source,
                         [&, shard, done = std::move(done)](const PushResult& result) mutable {
                           const absl::Status settled = StatusOf(result);
                           // If another shard fails, the next attempt omits this shard's
                           // partitions.
                           if (settled.ok()) NoteSettled(plan, shard, answered);
                           done(settled);
                         });
    });
  };
  CAPSTAN_RETURN_IF_ERROR(Repeat(attempt));
  return timeline;
}

absl::Status JobClient::AskShards(PsClient& shards, RequestPlan& plan, Ask ask) {
  plan.Route(shards.owners());
  CAPSTAN_RETURN_IF_ERROR(follower_.Reach(plan.shards()));
  absl::Status failure;
  size_t missing = plan.shards().size();
  std::vector<RequestId> requests;
  for (const ShardIndex shard : plan.shards()) {
    requests.push_back(ask(shard, [&failure, &missing](const absl::Status& answer) {
      failure.Update(answer);
      --missing;
    }));
  }
  const absl::Status awaited = Await([&missing] { return missing == 0; });
  if (awaited.ok()) return OfPeer(failure);
  for (const RequestId request : requests) shards.Cancel(request);
  return awaited;
}

absl::Status JobClient::Await(absl::FunctionRef<bool()> done, absl::Time until) {
  while (!done()) {
    const absl::Duration left = until - clock_.Now();
    if (left <= absl::ZeroDuration()) break;
    if (options_.interrupted()) return absl::CancelledError("interrupted");
    (void)loop_.Poll(std::min(left, kGlance));
  }
  return absl::OkStatus();
}

absl::Status JobClient::Pause(const absl::Status& failure, absl::Time deadline,
                              absl::Duration patience) {
  const absl::Time now = clock_.Now();
  if (absl::IsCancelled(failure)) return failure;
  if (!MayPass(failure)) {
    return absl::Status(failure.code(),
                        absl::StrCat("chief at ", options_.chief, ": ", failure.message()));
  }
  if (now >= deadline) {
    follower_.ForgetAll();  // So that the next call does not wait for an address that may hang.
    return absl::UnavailableError(absl::StrCat("chief at ", options_.chief, ": tried for ",
                                               absl::FormatDuration(patience), ": ",
                                               failure.message()));
  }
  const absl::Duration hint = RetryAfter(failure);
  const absl::Duration pause = hint > absl::ZeroDuration() ? std::min(hint, kGlance) : kGlance;
  const auto has_news = [this, heard = follower_.heard()]()
                            ABSL_NO_THREAD_SAFETY_ANALYSIS { return follower_.heard() != heard; };
  return Await(has_news, now + pause);
}

}  // namespace capstan
