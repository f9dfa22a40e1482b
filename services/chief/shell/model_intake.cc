#include "chief/shell/model_intake.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "capstan/base/log.h"
#include "capstan/base/status.h"
#include "capstan/base/wire_version.h"
#include "capstan/checkpoint/checkpoint_list.h"
#include "capstan/consistency/decisions.h"
#include "capstan/model/declaration.h"
#include "capstan/process/identity.h"
#include "capstan/rpc/status.h"
#include "chief/shell/initial_checkpoint.h"

namespace capstan::chief {

// ---- the chief ----

void ModelIntake::Ask(const v1::JobSpec& job, JobStore& store, const std::string& folder_uri) {
  absl::MutexLock lock(&mu_);
  job_ = job;
  known_.reset();
  asked_ = Asked{.store = &store, .folder_uri = folder_uri};
}

void ModelIntake::StopAsking() {
  absl::MutexLock one(&storing_);
  absl::MutexLock lock(&mu_);
  asked_.reset();
}

void ModelIntake::Forget() {
  absl::MutexLock one(&storing_);
  absl::MutexLock lock(&mu_);
  job_.reset();
  asked_.reset();
  known_.reset();
}

void ModelIntake::Know(const v1::JobSpec& job, const v1::StoredModel& model) {
  absl::MutexLock lock(&mu_);
  job_ = job;
  asked_.reset();
  known_ = model;
}

std::optional<v1::StoredModel> ModelIntake::Await(absl::Duration timeout) {
  absl::MutexLock lock(&mu_);
  const auto known = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return known_.has_value(); };
  mu_.AwaitWithTimeout(absl::Condition(&known), timeout);
  return known_;
}

bool ModelIntake::WantsModel() {
  absl::MutexLock lock(&mu_);
  return job_ && !known_;
}

// ---- workers ----

std::optional<absl::StatusOr<v1::RegisterWorkerReply>> ModelIntake::Answer(
    const v1::RegisterWorkerRequest& request) {
  // The machine refuses workers of another version.
  if (request.wire_version() != kWireVersion) return std::nullopt;
  absl::MutexLock lock(&mu_);
  if (!job_) return std::nullopt;
  if (known_ && request.has_declaration()) {
    const absl::Status same = Compare(request.declaration());
    if (same.ok()) return std::nullopt;
    if (request.trainers().empty()) return same;
  }
  v1::RegisterWorkerReply reply;
  *reply.mutable_job() = *job_;
  reply.set_model_wanted(!known_);
  return reply;
}

std::string ModelIntake::OddFacts(const v1::RegisterWorkerRequest& request) {
  absl::MutexLock lock(&mu_);
  if (!job_ || !known_ || !request.has_declaration()) return "";
  if (!IsSync(job_->dense_update()) && !IsSync(job_->sparse_update())) return "";
  const v1::ModelDeclaration& stored = known_->declaration();
  const std::string difference = FactsDifference(stored.facts(), request.declaration().facts());
  if (difference.empty()) return "";
  return absl::StrCat("bits depend on who works: ", difference, ", as declared by ",
                      stored.declared_by());
}

absl::Status ModelIntake::Compare(const v1::ModelDeclaration& declaration) {
  const v1::ModelDeclaration& stored = known_->declaration();
  const std::string difference = DeclarationDifference(stored, declaration);
  if (difference.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("the model differs from the job's (declared by ", stored.declared_by(),
                   "): ", difference, "; --fresh starts over"));
}

absl::StatusOr<bool> ModelIntake::Wants(const v1::ModelDeclaration& declaration) {
  CAPSTAN_RETURN_IF_ERROR(CheckDeclaration(declaration));
  absl::MutexLock lock(&mu_);
  if (known_) {
    CAPSTAN_RETURN_IF_ERROR(Compare(declaration));
    return false;
  }
  if (!asked_) return absl::UnavailableError("the chief does not ask for a model yet");
  CAPSTAN_RETURN_IF_ERROR(CheckNamesInExports(declaration, *job_));
  CAPSTAN_RETURN_IF_ERROR(CheckGroups(declaration, *job_));
  return true;
}

absl::Status ModelIntake::TakeTurn(const Reactor* stream) {
  const absl::Time now = clock_.Now();
  absl::MutexLock lock(&mu_);
  if (turn_ && turn_->stream != stream && now < turn_->heard + kStill) {
    return absl::UnavailableError("the model of another worker is on its way");
  }
  turn_ = Turn{stream, now};
  return absl::OkStatus();
}

void ModelIntake::KeepTurn(const Reactor* stream) {
  absl::MutexLock lock(&mu_);
  if (turn_ && turn_->stream == stream) turn_->heard = absl::InfiniteFuture();
}

void ModelIntake::EndTurn(const Reactor* stream) {
  absl::MutexLock lock(&mu_);
  if (turn_ && turn_->stream == stream) turn_.reset();
}

namespace {

// Deletes the initial values of a model that has not become the job's.
void Discard(const std::string& folder_uri, const std::string& id) {
  const auto folder = OpenObjectStore(absl::StrCat(folder_uri, "/initial"));
  const absl::Status deleted = folder.ok() ? DeleteCheckpoint(**folder, id) : folder.status();
  if (!deleted.ok())
    log::Warn("values of no model stay", {{"id", id}, {"why", deleted.ToString()}});
}

}  // namespace

absl::StatusOr<v1::DeclareModelReply> ModelIntake::Store(const v1::ModelDeclaration& declaration,
                                                         absl::Span<const float> values) {
  if (values.size() != ElementsOf(declaration)) {
    return absl::InvalidArgumentError(
        absl::StrCat(values.size(), " values have come, expected ", ElementsOf(declaration)));
  }
  CAPSTAN_RETURN_IF_ERROR(CheckFinite(declaration, values));
  absl::MutexLock one(&storing_);
  v1::DeclareModelReply reply;
  CAPSTAN_ASSIGN_OR_RETURN(const bool wanted, Wants(declaration));
  if (!wanted) return reply;
  Asked asked;
  v1::JobSpec job;
  {
    absl::MutexLock lock(&mu_);
    asked = *asked_;
    job = *job_;
  }
  AddTensors(declaration, job);
  v1::StoredModel model;
  model.set_format(1);
  *model.mutable_declaration() = declaration;
  const std::string id = absl::StrFormat("00000000-%016x", RandomId());
  model.set_initial(absl::StrCat("initial/", id));
  CAPSTAN_ASSIGN_OR_RETURN(const std::unique_ptr<ObjectStore> folder,
                           OpenObjectStore(absl::StrCat(asked.folder_uri, "/", model.initial())));
  CAPSTAN_RETURN_IF_ERROR(WriteInitialCheckpoint(*folder, id, job, values));
  absl::Status stored = asked.store->WriteModel(model);
  if (absl::IsAborted(stored)) {
    // Another chief of this job has stored a model first: these values will not be used.
    Discard(asked.folder_uri, id);
    CAPSTAN_ASSIGN_OR_RETURN(const std::optional<v1::StoredModel> other, asked.store->ReadModel());
    if (!other) return absl::UnavailableError("the model in the store has changed; try again");
    model = *other;
  } else {
    CAPSTAN_RETURN_IF_ERROR(stored);
    reply.set_stored(true);
    log::Info("the job has its model", {{"declared_by", declaration.declared_by()},
                                        {"tensors", declaration.tensors_size()},
                                        {"parameters", values.size()}});
  }
  absl::MutexLock lock(&mu_);
  asked_.reset();
  known_ = std::move(model);
  CAPSTAN_RETURN_IF_ERROR(Compare(declaration));
  return reply;
}

// Reads one stream. Deletes itself in OnDone.
class ModelIntake::Reactor final : public grpc::ServerReadReactor<v1::DeclareModelRequest> {
 public:
  Reactor(ModelIntake& intake, v1::DeclareModelReply* reply) : intake_(intake), reply_(reply) {
    StartRead(&request_);
  }

  void OnReadDone(bool ok) override {
    if (!ok) {
      // A call that is cancelled at once also ends here, and must not be mistaken for a model
      // without tensors.
      if (!begun_) return End({grpc::StatusCode::INVALID_ARGUMENT, "no declaration has come"});
      intake_.KeepTurn(this);
      const bool taken = intake_.thread_.Post([this] { Settle(); });
      if (!taken) End({grpc::StatusCode::UNAVAILABLE, "many models are being declared"});
      return;
    }
    if (!begun_) {
      begun_ = true;
      declaration_ = request_.declaration();
      const absl::StatusOr<bool> wanted = intake_.Wants(declaration_);
      if (!wanted.ok() || !*wanted) return End(ToGrpcStatus(wanted.status()));
      expected_ = ElementsOf(declaration_);
    }
    if (absl::Status turn = intake_.TakeTurn(this); !turn.ok()) return End(ToGrpcStatus(turn));
    const std::string& piece = request_.values();
    const size_t count = piece.size() / sizeof(float);
    if (piece.size() % sizeof(float) != 0 || count > expected_ - values_.size()) {
      return End({grpc::StatusCode::INVALID_ARGUMENT, "values beyond those that are declared"});
    }
    if (count > 0) {  // The first message may contain only the declaration.
      values_.resize(values_.size() + count);
      std::memcpy(values_.data() + values_.size() - count, piece.data(), piece.size());
    }
    StartRead(&request_);
  }

  void OnDone() override {
    intake_.EndTurn(this);
    delete this;
  }

 private:
  // Ends the turn first: another worker may get it as soon as this one learns of the end.
  void End(const grpc::Status& status) {
    intake_.EndTurn(this);
    Finish(status);
  }

  void Settle() {
    const absl::StatusOr<v1::DeclareModelReply> stored = intake_.Store(declaration_, values_);
    if (stored.ok()) *reply_ = *stored;
    End(ToGrpcStatus(stored.status()));
  }

  ModelIntake& intake_;
  v1::DeclareModelReply* const reply_;
  v1::DeclareModelRequest request_;
  bool begun_ = false;
  v1::ModelDeclaration declaration_;
  uint64_t expected_ = 0;
  std::vector<float> values_;
};

grpc::ServerReadReactor<v1::DeclareModelRequest>* ModelIntake::Take(v1::DeclareModelReply* reply) {
  return new Reactor(*this, reply);
}

}  // namespace capstan::chief
