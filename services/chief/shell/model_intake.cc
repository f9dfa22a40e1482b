#include "chief/shell/model_intake.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "capstan/base/log.h"
#include "capstan/base/status.h"
#include "capstan/base/wire_version.h"
#include "capstan/checkpoint/checkpoint_list.h"
#include "capstan/model/layout.h"
#include "capstan/model/optimizer_groups.h"
#include "capstan/optim/vector_math.h"
#include "capstan/process/identity.h"
#include "capstan/rpc/status.h"
#include "chief/shell/initial_checkpoint.h"

namespace capstan::chief {
namespace {

constexpr uint64_t kMostFloats = uint64_t{1} << 30;  // They pass through the chief's memory.
constexpr int kMostTensors = 1 << 20;

std::string ShapeText(const v1::DeclaredTensor& tensor) {
  return absl::StrCat("[", absl::StrJoin(tensor.shape(), ", "), "]");
}

std::string RoleText(const v1::DeclaredTensor& tensor) {
  switch (tensor.role()) {
    case v1::TENSOR_ROLE_RUNNING:
      return "running (a buffer)";
    case v1::TENSOR_ROLE_FROZEN:
      return "frozen";
    default:
      return "trained";
  }
}

uint64_t ElementsOf(const v1::DeclaredTensor& tensor) {
  uint64_t count = 1;
  for (const uint32_t extent : tensor.shape()) {
    if (extent > 0 && count > kMostFloats / extent) return kMostFloats + 1;
    count *= extent;
  }
  return count;
}

uint64_t ElementsOf(const v1::ModelDeclaration& declaration) {
  uint64_t count = 0;
  for (const v1::DeclaredTensor& tensor : declaration.tensors()) count += ElementsOf(tensor);
  return count;
}

// INVALID_ARGUMENT: names the first tensor that holds NaN or infinity, which no shard takes.
absl::Status CheckFinite(const v1::ModelDeclaration& declaration, absl::Span<const float> values) {
  size_t begin = 0;
  for (const v1::DeclaredTensor& tensor : declaration.tensors()) {
    size_t elements = 1;
    for (const uint32_t extent : tensor.shape()) elements *= extent;
    if (!AllFinite(values.data() + begin, elements)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "tensor ", tensor.name(), " begins with values that are not finite numbers"));
    }
    begin += elements;
  }
  return absl::OkStatus();
}

// In exports (cli/model/exported_model.h) tables and slots are arrays beside the tensors.
absl::Status CheckNamesInExports(const v1::ModelDeclaration& declaration, const v1::JobSpec& job) {
  std::set<std::string> taken;
  for (const v1::TableSpec& table : job.tables()) {
    for (const char* part : {".keys", ".weights", ".slots"}) taken.insert(table.name() + part);
  }
  for (const v1::DeclaredTensor& tensor : declaration.tensors()) {
    taken.insert(tensor.name() + ".slots");
  }
  for (const v1::DeclaredTensor& tensor : declaration.tensors()) {
    if (!taken.contains(tensor.name())) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "tensor ", tensor.name(), " has the name that a part of the table or tensor ",
        tensor.name().substr(0, tensor.name().rfind('.')), " has in exported models; rename it"));
  }
  return absl::OkStatus();
}

absl::Status CheckGroupsOf(const v1::ModelDeclaration& declaration, const v1::JobSpec& job) {
  std::vector<std::string> trained;
  for (const v1::DeclaredTensor& tensor : declaration.tensors()) {
    if (tensor.role() == v1::TENSOR_ROLE_UNSPECIFIED) trained.push_back(tensor.name());
  }
  return CheckGroups(job, trained);
}

}  // namespace

std::string DeclarationDifference(const v1::ModelDeclaration& job,
                                  const v1::ModelDeclaration& here) {
  int i = 0;
  int k = 0;
  while (i < job.tensors_size() || k < here.tensors_size()) {
    const bool only_job =
        k == here.tensors_size() ||
        (i < job.tensors_size() && job.tensors(i).name() < here.tensors(k).name());
    if (only_job) {
      return absl::StrCat(job.tensors(i).name(), " of ", ShapeText(job.tensors(i)),
                          " is in the job, and not here");
    }
    const v1::DeclaredTensor& mine = here.tensors(k);
    if (i == job.tensors_size() || mine.name() < job.tensors(i).name()) {
      return absl::StrCat(mine.name(), " of ", ShapeText(mine), " is here, and not in the job");
    }
    const v1::DeclaredTensor& its = job.tensors(i);
    if (ShapeText(its) != ShapeText(mine)) {
      return absl::StrCat(mine.name(), " is ", ShapeText(mine), " here, ", ShapeText(its),
                          " in the job");
    }
    if (its.role() != mine.role()) {
      return absl::StrCat(mine.name(), " is ", RoleText(mine), " here, ", RoleText(its),
                          " in the job");
    }
    ++i;
    ++k;
  }
  const std::string its = absl::StrJoin(job.outputs(), ", ");
  const std::string mine = absl::StrJoin(here.outputs(), ", ");
  if (its == mine) return "";
  return absl::StrCat("predict gives (", mine, ") here, (", its, ") in the job");
}

absl::Status CheckDeclaration(const v1::ModelDeclaration& declaration) {
  if (declaration.tensors_size() > kMostTensors) {
    return absl::InvalidArgumentError(absl::StrCat("the model has ", declaration.tensors_size(),
                                                   " tensors, more than ", kMostTensors));
  }
  for (int i = 0; i < declaration.tensors_size(); ++i) {
    const v1::DeclaredTensor& tensor = declaration.tensors(i);
    if (tensor.name().empty()) return absl::InvalidArgumentError("a tensor has no name");
    if (i > 0 && tensor.name() <= declaration.tensors(i - 1).name()) {
      return absl::InvalidArgumentError(
          absl::StrCat("tensor ", tensor.name(), " is out of order, or declared twice"));
    }
    if (ElementsOf(tensor) == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("tensor ", tensor.name(), " of ", ShapeText(tensor), " has no elements"));
    }
  }
  if (ElementsOf(declaration) > kMostFloats) {
    return absl::InvalidArgumentError(
        absl::StrCat("the model's dense tensors have more than ", kMostFloats, " elements"));
  }
  return absl::OkStatus();
}

void AddTensors(const v1::ModelDeclaration& declaration, v1::JobSpec& job) {
  job.clear_tensors();
  for (const v1::DeclaredTensor& from : declaration.tensors()) {
    v1::TensorSpec& tensor = *job.add_tensors();
    tensor.set_id(static_cast<uint32_t>(job.tensors_size() - 1));
    tensor.set_name(from.name());
    *tensor.mutable_shape() = from.shape();
    SetRole(from.role(), OptimizerOfTensor(job, tensor.name()), tensor);
  }
}

// ---- the chief ----

void ModelIntake::Ask(const v1::JobSpec& job, JobStore& store, const std::string& folder_uri) {
  absl::MutexLock lock(&mu_);
  job_ = job;
  known_.reset();
  asked_ = Asked{.store = &store, .folder_uri = folder_uri};
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

// ---- workers ----

std::optional<absl::StatusOr<v1::RegisterWorkerReply>> ModelIntake::Answer(
    const v1::RegisterWorkerRequest& request) {
  // Workers of another version are the machine's to refuse.
  if (request.wire_version() != kWireVersion) return std::nullopt;
  absl::MutexLock lock(&mu_);
  if (!job_) return std::nullopt;
  if (known_ && request.has_declaration()) {
    if (absl::Status same = Compare(request.declaration()); !same.ok()) return same;
    return std::nullopt;
  }
  v1::RegisterWorkerReply reply;
  *reply.mutable_job() = *job_;
  reply.set_model_wanted(!known_);
  return reply;
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
  CAPSTAN_RETURN_IF_ERROR(CheckGroupsOf(declaration, *job_));
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

// Deletes the initial values of a model that is not the job's.
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
    // Another chief of this job was quicker, and nobody will ask for these values.
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

// Deletes itself when gRPC has done with it.
class ModelIntake::Reactor final : public grpc::ServerReadReactor<v1::DeclareModelRequest> {
 public:
  Reactor(ModelIntake& intake, v1::DeclareModelReply* reply) : intake_(intake), reply_(reply) {
    StartRead(&request_);
  }

  void OnReadDone(bool ok) override {
    if (!ok) {
      // A call that is cancelled at once looks like this, too; it must not be taken for a model
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
    if (count > 0) {  // The first message may be the declaration alone.
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
  // Whoever hears of the end may find its turn at once.
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
