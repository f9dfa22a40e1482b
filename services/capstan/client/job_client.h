// A job as used by a program that is not part of it, such as a notebook: its status, its
// description, its present parameters, and pushes of the program's own gradients.
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
  std::string tls;    // A folder for LoadTlsIdentity; empty: plaintext.
  // How long a call waits for a chief that does not answer or has no job yet; and how long a pull
  // or a push waits for shards while partitions move or a shard is replaced.
  absl::Duration chief_patience = absl::Seconds(10);
  absl::Duration pull_patience = absl::Seconds(60);
  // Called several times a second while a call waits; if it returns true, the call ends with
  // CANCELLED.
  std::function<bool()> interrupted = [] { return false; };
  // Translates the addresses of the chief and the shards.
  std::unique_ptr<AddressResolver> resolver = std::make_unique<AddressResolver>();
};

// Gradients of the rows of a table: `values` has as many numbers as the table's dim for each key,
// one key after another. The gradients of a key that occurs twice are added.
struct TableGradients {
  std::string table;
  absl::Span<const uint64_t> keys;
  absl::Span<const float> values;
};

// Pulls change nothing on the shards: they create no row, and no update policy makes them wait. The
// values of one call may be from several moments, because training continues meanwhile.
//
// Pushes apply gradients with the job's optimizers, once for each name: even if messages are lost
// or the call is repeated with the same name, no gradient is applied twice. A push that returns OK
// was applied as a whole; one that failed may have been applied in part, until it is repeated. A
// push is not a trainer's: it changes no clock, round or count of examples of the job, and its
// gradients are never considered stale. A push returns the timeline in which it was carried out: if
// an earlier push returned another one, the job has returned to a checkpoint, and the earlier push
// may be undone.
//
// Errors of all calls, in one line with the chief's address: UNAVAILABLE, with the last reason:
// nobody has answered in time, or the job has no model yet. PERMISSION_DENIED: the certificate
// names no role of the job that may do this. CANCELLED: `interrupted` returned true. The resolver's
// errors are passed on.
//
// *Thread-safe*; one call is carried out at a time, and others wait for it.
class JobClient {
 public:
  // Does not connect before the first call. Errors are those of reading the folder `tls`.
  static absl::StatusOr<std::unique_ptr<JobClient>> Create(JobClientOptions options);

  // Returns the status of the job, even if it cannot begin yet.
  absl::StatusOr<v1::GetStatusReply> Status() ABSL_LOCKS_EXCLUDED(mu_);

  // Returns the job with its tables and tensors.
  absl::StatusOr<v1::JobSpec> Describe() ABSL_LOCKS_EXCLUDED(mu_);

  // Returns the rows of `keys`, one after another, in the given order; for a key without a row, its
  // initial values. NOT_FOUND: there is no such table; the message names the existing ones.
  // ABORTED: the job was started over meanwhile with another table of this name.
  absl::StatusOr<std::vector<float>> PullRows(const std::string& table,
                                              absl::Span<const uint64_t> keys)
      ABSL_LOCKS_EXCLUDED(mu_);

  // Returns the tensor's elements, row-major. NOT_FOUND: there is no such tensor; the message names
  // the existing ones. ABORTED as for rows.
  absl::StatusOr<std::vector<float>> PullTensor(const std::string& tensor) ABSL_LOCKS_EXCLUDED(mu_);

  // Push gradients and return the timeline. `name` belongs to a session's stream
  // (StreamId::Session), whose pushes are numbered by their seq, beginning with 0; pushes of rows
  // and pushes of tensors are numbered separately. Each table may occur once. NOT_FOUND as for
  // pulls. INVALID_ARGUMENT: a gradient has another shape, or contains NaN or infinity; this part
  // of the job is updated in synchronous rounds, which consist of lanes only, or compensates stale
  // gradients; the tensor is not trained; more than kMaxPushBytes go to one partition. ABORTED: the
  // job has ended.
  absl::StatusOr<uint64_t> PushRows(const StreamPush& name, absl::Span<const TableGradients> tables)
      ABSL_LOCKS_EXCLUDED(mu_);
  absl::StatusOr<uint64_t> PushTensor(const StreamPush& name, const std::string& tensor,
                                      absl::Span<const float> gradient) ABSL_LOCKS_EXCLUDED(mu_);

  // Returns the error that PushTensor would return for this gradient or tensor, without pushing.
  // For a caller that pushes several tensors together, and checks all of them first.
  absl::Status CheckTensor(const std::string& tensor, absl::Span<const float> gradient)
      ABSL_LOCKS_EXCLUDED(mu_);

 private:
  // Fills the plan of a pull from this job, and returns where the values have to be written.
  using Fill =
      absl::FunctionRef<absl::StatusOr<PullTarget>(const v1::JobSpec& job, RequestPlan& plan)>;
  // Fills the plan of a push to this job, and returns where the gradients are.
  using FillPush =
      absl::FunctionRef<absl::StatusOr<PushSource>(const v1::JobSpec& job, RequestPlan& plan)>;

  JobClient(JobClientOptions options, std::unique_ptr<const Tls> tls);

  absl::StatusOr<v1::GetStatusReply> AskStatus() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::StatusOr<const v1::JobSpec*> Learn() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Calls `attempt` until it succeeds, or fails with an error that a retry would not cure, or the
  // patience is over.
  absl::Status Repeat(absl::FunctionRef<absl::Status()> attempt) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status Pull(Fill fill) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::StatusOr<uint64_t> Push(const StreamPush& name, FillPush fill)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Sends one shard's part of a plan.
  using Ask =
      absl::FunctionRef<RequestId(ShardIndex shard, absl::AnyInvocable<void(absl::Status)>)>;
  absl::Status AskShards(PsClient& shards, RequestPlan& plan, Ask ask)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Polls until done() is true or it is `until`. CANCELLED: options_.interrupted() returned true
  // first.
  absl::Status Await(absl::FunctionRef<bool()> done, absl::Time until = absl::InfiniteFuture())
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // After a failure that may be temporary: waits a little, or until a newer view comes, and returns
  // OK. Any other failure, and any after `deadline`, is returned with the chief's address in its
  // message. After the deadline the resolver is told to forget all addresses.
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
