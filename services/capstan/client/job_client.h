// A job as a program sees it that is no part of it, such as a notebook: its status, what it
// consists of, its parameters as they stand, and gradients of the program's own.
//
//   auto job = JobClient::Create({.chief = "localhost:7000"});
//   auto rows = (*job)->PullRows("user", {12, 345});
//   (*job)->PushRows(name, {{"user", {12, 345}, gradients}});
#ifndef CAPSTAN_CLIENT_JOB_CLIENT_H_
#define CAPSTAN_CLIENT_JOB_CLIENT_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "capstan/base/clock.h"
#include "capstan/client/address_resolver.h"
#include "capstan/client/job_follower.h"
#include "capstan/client/ps_client.h"
#include "capstan/client/request_plan.h"
#include "capstan/consistency/stream_ledger.h"
#include "capstan/rpc/event_loop.h"
#include "capstan/security/tls.h"
#include "capstan/v1/chief.pb.h"
#include "capstan/v1/job.pb.h"

namespace capstan {

struct JobClientOptions {
  std::string chief;  // host:port
  std::string tls;    // A folder as LoadTlsIdentity reads it; empty: plaintext.
  // How long a call waits for a chief that does not answer, or has no job yet, and how long for
  // shards, to pull from them or to push, while partitions move or a shard is replaced.
  absl::Duration chief_patience = absl::Seconds(10);
  absl::Duration pull_patience = absl::Seconds(60);
  // Asked several times a second while a call waits: whether to give it up.
  std::function<bool()> interrupted = [] { return false; };
  // Where `chief` and the shards are reached from here.
  std::unique_ptr<AddressResolver> resolver = std::make_unique<AddressResolver>();
};

// Gradients of the rows of a table: `values` has the table's dim of them for each key, one key
// after another. Those of a key that comes twice are added.
struct TableGradients {
  std::string table;
  absl::Span<const uint64_t> keys;
  absl::Span<const float> values;
};

// Pulls change nothing on the shards: they create no row, and wait for no policy. The values of one
// call may be of several moments, as training goes on meanwhile.
//
// Pushes have the job's optimizers apply gradients, once by their name: however often messages are
// lost or the call is repeated with the same name, nothing counts twice. What a call has been told
// of is done by its end, and what of a call that failed has been done is not known until it is
// repeated. A push is not a trainer's: the job's clocks, rounds and examples know nothing of it,
// and its gradients count as those of the parameters as they stand, stale or not. They return the
// timeline in which it was carried out: if that is another one than of a push before, the job has
// returned to a checkpoint, and what was pushed before may be undone.
//
// Errors of all calls, in one line with the chief's address: UNAVAILABLE: nobody has answered in
// time, or the job has no model yet, with the last reason. PERMISSION_DENIED: the certificate names
// no role of the job that may do this. CANCELLED: `interrupted` said so. Others are the resolver's.
//
// *Thread-safe*; one call at a time is carried out, others wait for it.
class JobClient {
 public:
  // Connects when first asked. INVALID_ARGUMENT: of the folder `tls`.
  static absl::StatusOr<std::unique_ptr<JobClient>> Create(JobClientOptions options);

  // How the job stands; also of one that cannot begin yet.
  absl::StatusOr<v1::GetStatusReply> Status() ABSL_LOCKS_EXCLUDED(mu_);

  // The job with its tables and tensors.
  absl::StatusOr<v1::JobSpec> Describe() ABSL_LOCKS_EXCLUDED(mu_);

  // The rows of these keys, one after another, in the order given; a key that has no row has its
  // initial one. NOT_FOUND names the tables that there are.
  absl::StatusOr<std::vector<float>> PullRows(const std::string& table,
                                              absl::Span<const uint64_t> keys)
      ABSL_LOCKS_EXCLUDED(mu_);

  // A tensor's elements, row-major. NOT_FOUND names the tensors that there are.
  absl::StatusOr<std::vector<float>> PullTensor(const std::string& tensor) ABSL_LOCKS_EXCLUDED(mu_);

  // `name` is of a session's stream (StreamId::Session), whose pushes follow each other by their
  // seq, from 0 on; those of rows and of tensors are counted apart. Each table comes once.
  // NOT_FOUND as for pulls. INVALID_ARGUMENT: a gradient of another shape, or with NaN or infinity;
  // a part of the job that is updated in synchronous rounds, which consist of lanes alone; a tensor
  // that is not trained; more than kMaxPushBytes for one partition. ABORTED: the job is over.
  absl::StatusOr<uint64_t> PushRows(const StreamPush& name, absl::Span<const TableGradients> tables)
      ABSL_LOCKS_EXCLUDED(mu_);
  absl::StatusOr<uint64_t> PushTensor(const StreamPush& name, const std::string& tensor,
                                      absl::Span<const float> gradient) ABSL_LOCKS_EXCLUDED(mu_);

  // What PushTensor would refuse for its gradient or its name, without a push: whoever pushes
  // several things together asks of each before the first of them is on its way.
  absl::Status CheckTensor(const std::string& tensor, absl::Span<const float> gradient)
      ABSL_LOCKS_EXCLUDED(mu_);

 private:
  // Plans for what is to be pulled of this job, and says where it goes.
  using Fill =
      absl::FunctionRef<absl::StatusOr<PullTarget>(const v1::JobSpec& job, RequestPlan& plan)>;
  // The same of what is to be pushed, and where it comes from.
  using FillPush =
      absl::FunctionRef<absl::StatusOr<PushSource>(const v1::JobSpec& job, RequestPlan& plan)>;

  JobClient(JobClientOptions options, std::unique_ptr<const Tls> tls);

  absl::StatusOr<v1::GetStatusReply> AskStatus() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::StatusOr<const v1::JobSpec*> Learn() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Until the attempt ends well, or with what no repetition mends, or patience is over.
  absl::Status Repeat(absl::FunctionRef<absl::Status()> attempt) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status Pull(Fill fill) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::StatusOr<uint64_t> Push(const StreamPush& name, FillPush fill)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Requests of a plan to all of its shards.
  using Ask =
      absl::FunctionRef<RequestId(ShardIndex shard, absl::AnyInvocable<void(absl::Status)>)>;
  absl::Status AskShards(PsClient& shards, RequestPlan& plan, Ask ask)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Until it is done, or the time has come. CANCELLED: interrupted before.
  absl::Status Await(absl::FunctionRef<bool()> done, absl::Time until = absl::InfiniteFuture())
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Waits a little after a failure that may pass, or until another view has come. Another one, or
  // one after the deadline, comes back with whose it is; after the deadline all is resolved anew.
  absl::Status Pause(const absl::Status& failure, absl::Time deadline, absl::Duration patience)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const JobClientOptions options_;
  const std::unique_ptr<const Tls> tls_;
  const SteadyClock clock_;

  absl::Mutex mu_;
  EventLoop loop_ ABSL_GUARDED_BY(mu_);
  JobFollower follower_ ABSL_GUARDED_BY(mu_);
};

}  // namespace capstan

#endif  // CAPSTAN_CLIENT_JOB_CLIENT_H_
