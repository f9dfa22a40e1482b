#include "chief/shell/model_intake.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "capstan/base/wire_version.h"
#include "capstan/checkpoint/checkpoint_reader.h"
#include "capstan/model/declaration.h"
#include "capstan/rpc/channel.h"
#include "capstan/rpc/server.h"
#include "capstan/rpc/status.h"
#include "chief/shell/chief_service.h"
#include "chief/shell/view_feed.h"
#include "tests/lib/test_folder.h"
#include "tests/unit/model/declared.h"

namespace capstan::chief {
namespace {

using testing::HasSubstr;

const std::vector<float> kValues = {10, 20, 1, 2, 3, 4, 5, 6};

// A chief's service on loopback that asks for a model.
class ModelIntakeTest : public testing::Test {
 protected:
  ModelIntakeTest() {
    job_.set_job("small");
    job_.set_partition_count(4);
    job_.mutable_model()->set_user("m.py");
    job_.mutable_dense_optimizer()->set_kind(v1::OPTIMIZER_KIND_SGD);
    store_ = *JobStore::Open(folder_, "small");
  }
  ~ModelIntakeTest() override { server_->Shutdown(absl::ZeroDuration()); }

  void Ask() { intake_.Ask(job_, *store_, JobStore::FolderUri(folder_, "small")); }

  v1::RegisterWorkerRequest Registration() const {
    v1::RegisterWorkerRequest request;
    request.set_wire_version(kWireVersion);
    return request;
  }

  absl::StatusOr<v1::DeclareModelReply> Declare(const v1::ModelDeclaration& declaration,
                                                const std::vector<float>& values) {
    grpc::ClientContext context;
    v1::DeclareModelReply reply;
    const auto writer = stub_->DeclareModel(&context, &reply);
    v1::DeclareModelRequest request;
    *request.mutable_declaration() = declaration;
    writer->Write(request);
    request.Clear();
    for (const float value : values) {
      request.set_values(&value, sizeof value);
      writer->Write(request);
    }
    writer->WritesDone();
    const absl::Status status = FromGrpcStatus(writer->Finish());
    if (!status.ok()) return status;
    return reply;
  }

  void StopSlow() {
    slow_context_->TryCancel();
    EXPECT_FALSE(slow_->Finish().ok());
  }

  const TestFolder temporary_;
  const std::string folder_ = temporary_.path();
  v1::JobSpec job_;
  std::unique_ptr<JobStore> store_;
  FakeClock clock_;
  ModelIntake intake_{clock_};
  ViewFeed views_{8};
  ChiefDoor door_{{.views = views_, .models = intake_, .clock = clock_}};
  ChiefService service_{door_, intake_, /*tls=*/nullptr};
  const std::unique_ptr<Server> server_ = *Server::Start({.listen = "127.0.0.1:0"}, {&service_});
  const std::unique_ptr<v1::Chief::Stub> stub_ =
      v1::Chief::NewStub(NewPlainChannel(absl::StrCat("127.0.0.1:", server_->port())));
  std::unique_ptr<grpc::ClientContext> slow_context_;
  v1::DeclareModelReply slow_reply_;
  std::unique_ptr<grpc::ClientWriter<v1::DeclareModelRequest>> slow_;
};

TEST_F(ModelIntakeTest, AJobOfAnotherKindIsNoneOfItsBusiness) {
  EXPECT_FALSE(intake_.Answer(Registration()).has_value());
  EXPECT_TRUE(absl::IsUnavailable(Declare(Declaration(kModel), kValues).status()));
}

TEST_F(ModelIntakeTest, WorkersHearOfTheJobAndAreAskedForItsModel) {
  Ask();
  const auto answer = intake_.Answer(Registration());
  ASSERT_TRUE(answer && answer->ok());
  EXPECT_TRUE((*answer)->model_wanted());
  EXPECT_EQ((*answer)->job().model().user(), "m.py");
  EXPECT_EQ((*answer)->trainers_size(), 0);
  EXPECT_FALSE(intake_.Await(absl::ZeroDuration()).has_value());
}

TEST_F(ModelIntakeTest, AWorkerOfTheRunBeforeIsToldToRegisterWhileTheModelIsWanted) {
  const v1::WorkerHeartbeatRequest beat;
  v1::WorkerHeartbeatReply reply;
  const auto answer = [&] {
    grpc::ClientContext context;
    return FromGrpcStatus(stub_->WorkerHeartbeat(&context, beat, &reply));
  };
  EXPECT_TRUE(absl::IsUnavailable(answer())) << "the chief is starting";
  Ask();
  reply.set_known(true);
  EXPECT_EQ(answer(), absl::OkStatus());
  EXPECT_FALSE(reply.known());
  ASSERT_TRUE(Declare(Declaration(kModel), kValues).ok());
  EXPECT_TRUE(absl::IsUnavailable(answer())) << "the chief begins to lead";
}

TEST_F(ModelIntakeTest, AWorkerOfTheRunBeforeWithAnotherModelHearsOfTheJob) {
  Ask();
  ASSERT_TRUE(Declare(Declaration(kModel), kValues).ok());
  v1::RegisterWorkerRequest request = Registration();
  *request.mutable_declaration() = Declaration({kModel[0], {"fc.weight", {2, 4}}});
  request.add_trainers(7);
  const auto answer = intake_.Answer(request);
  ASSERT_TRUE(answer && answer->ok()) << "its program has not failed: its job has gone";
  EXPECT_FALSE((*answer)->model_wanted());
  EXPECT_EQ((*answer)->job().job(), "small");
  EXPECT_EQ((*answer)->trainers_size(), 0);
}

TEST_F(ModelIntakeTest, AModelWithoutTheTensorsOfAGroupIsRefusedWithTheNamesItHas) {
  job_.add_dense_groups()->add_match("*running*");
  Ask();
  const absl::Status refused = Declare(Declaration(kModel), kValues).status();
  EXPECT_TRUE(absl::IsInvalidArgument(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr("optimizer.dense.groups[0]: no tensor that is trained is named *running*; "
                        "there are fc.weight"));
  EXPECT_FALSE(intake_.Await(absl::ZeroDuration()).has_value());
}

TEST_F(ModelIntakeTest, ATensorThatIsCalledAsAPartOfATableInExportsIsRefused) {
  job_.add_tables()->set_name("user");
  Ask();
  EXPECT_EQ(Declare(Declaration({{"user.weights", {2}}}), {1, 2}).status(),
            absl::InvalidArgumentError(
                "tensor user.weights has the name that a part of the table or tensor user has in "
                "exported models; rename it"));
  EXPECT_TRUE(absl::IsInvalidArgument(
      Declare(Declaration({{"w", {1}}, {"w.slots", {1}}}), {1, 2}).status()));
  EXPECT_EQ(Declare(Declaration({{"user.weight", {2}}}), {1}).status(),
            absl::InvalidArgumentError("1 values have come, expected 2"))
      << "the name is nobody else's";
}

TEST_F(ModelIntakeTest, TheFirstDeclarationIsTheJobsAndItsValuesAreACheckpoint) {
  Ask();
  const absl::StatusOr<v1::DeclareModelReply> reply = Declare(Declaration(kModel), kValues);
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_TRUE(reply->stored());
  const std::optional<v1::StoredModel> model = intake_.Await(absl::ZeroDuration());
  ASSERT_TRUE(model.has_value());
  const absl::StatusOr<CheckpointReader> reader = CheckpointReader::Open(
      absl::StrCat(JobStore::FolderUri(folder_, "small"), "/", model->initial()));
  ASSERT_TRUE(reader.ok()) << reader.status();
  v1::JobSpec job = job_;
  AddTensors(model->declaration(), job);
  EXPECT_EQ(reader->CheckJob(job), absl::OkStatus());
  const DenseLayout layout = *DenseLayout::Create(job.tensors(), 4);
  std::vector<float> values(kValues.size());
  for (uint32_t partition = 0; partition < 4; ++partition) {
    const absl::StatusOr<DecodedPartition> decoded =
        reader->Read(static_cast<PartitionIndex>(partition), job, layout);
    ASSERT_TRUE(decoded.ok()) << decoded.status();
    for (const Block& block : decoded->store->blocks().blocks()) {
      const absl::Span<const float> weights = decoded->store->blocks().Weights(block.id);
      std::copy(weights.begin(), weights.end(), values.begin() + block.flat_offset);
    }
  }
  EXPECT_EQ(values, kValues);
}

TEST_F(ModelIntakeTest, OtherFactsThanThoseOfTheModelAreToldOfASynchronousJob) {
  v1::RegisterWorkerRequest request = Registration();
  v1::ModelDeclaration declaration = Declaration(kModel);
  (*declaration.mutable_facts())["torch"] = "1.13";
  *request.mutable_declaration() = declaration;
  (*request.mutable_declaration()->mutable_facts())["torch"] = "2.0";
  job_.mutable_dense_update()->set_kind(v1::POLICY_KIND_SYNC);
  Ask();
  EXPECT_EQ(intake_.OddFacts(request), "") << "the job has no model";
  ASSERT_TRUE(Declare(declaration, kValues).ok());
  EXPECT_EQ(intake_.OddFacts(request),
            "bits depend on who works: torch is 2.0 here, and 1.13 in the job, as declared by "
            "worker-0");
  EXPECT_EQ(intake_.OddFacts(Registration()), "") << "towers compute";
  (*request.mutable_declaration()->mutable_facts())["torch"] = "1.13";
  EXPECT_EQ(intake_.OddFacts(request), "");
  job_.mutable_dense_update()->set_kind(v1::POLICY_KIND_ASYNC);
  intake_.Know(job_, *intake_.Await(absl::ZeroDuration()));
  (*request.mutable_declaration()->mutable_facts())["torch"] = "2.0";
  EXPECT_EQ(intake_.OddFacts(request), "");
}

TEST_F(ModelIntakeTest, WhoDeclaresTheSameMayRegisterAndAnotherModelIsRefusedInOneLine) {
  Ask();
  ASSERT_TRUE(Declare(Declaration(kModel), kValues).ok());
  const absl::StatusOr<v1::DeclareModelReply> again = Declare(Declaration(kModel), kValues);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_FALSE(again->stored());
  v1::RegisterWorkerRequest request = Registration();
  const auto silent = intake_.Answer(request);
  ASSERT_TRUE(silent && silent->ok());
  EXPECT_FALSE((*silent)->model_wanted());
  *request.mutable_declaration() = Declaration(kModel);
  EXPECT_FALSE(intake_.Answer(request).has_value());
  *request.mutable_declaration() = Declaration({kModel[0], {"fc.weight", {2, 4}}});
  const auto refused = intake_.Answer(request);
  ASSERT_TRUE(refused.has_value());
  EXPECT_EQ(refused->status(),
            absl::FailedPreconditionError(
                "the model differs from the job's (declared by worker-0): fc.weight is [2, 4] "
                "here, [2, 3] in the job; --fresh starts over"));
  EXPECT_EQ(Declare(request.declaration(), kValues).status(), refused->status());
}

TEST_F(ModelIntakeTest, ALaterChiefKnowsTheModelOfTheOneBefore) {
  Ask();
  ASSERT_TRUE(Declare(Declaration(kModel), kValues).ok());
  const std::unique_ptr<JobStore> later = *JobStore::Open(folder_, "small");
  const absl::StatusOr<std::optional<v1::StoredModel>> stored = later->ReadModel();
  ASSERT_TRUE(stored.ok() && stored->has_value());
  EXPECT_EQ((*stored)->initial(), intake_.Await(absl::ZeroDuration())->initial());
}

TEST_F(ModelIntakeTest, OfTwoChiefsOneWritesTheModelAndTheOtherTakesIt) {
  Ask();
  const std::unique_ptr<JobStore> other = *JobStore::Open(folder_, "small");
  v1::StoredModel model;
  *model.mutable_declaration() = Declaration(kModel);
  model.set_initial("initial/other");
  ASSERT_EQ(other->WriteModel(model), absl::OkStatus());
  const absl::StatusOr<v1::DeclareModelReply> reply = Declare(Declaration(kModel), kValues);
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_FALSE(reply->stored());
  EXPECT_EQ(intake_.Await(absl::ZeroDuration())->initial(), "initial/other");
  const std::string initial = JobStore::FolderUri(folder_, "small") + "/initial";
  for (const auto& entry : std::filesystem::recursive_directory_iterator(initial)) {
    if (entry.path().filename() == ".lock") continue;  // The object store's own.
    EXPECT_FALSE(entry.is_regular_file()) << entry.path() << " is of no model";
  }
}

TEST_F(ModelIntakeTest, ValuesOfOneWorkerAreTakenAtATimeAndWhoseStopComingMakesRoom) {
  Ask();
  v1::DeclareModelRequest request;
  *request.mutable_declaration() = Declaration(kModel);
  absl::Status other;
  // Which of the two is heard of first is chance.
  for (int i = 0; i < 1000 && !absl::IsUnavailable(other); ++i) {
    slow_context_ = std::make_unique<grpc::ClientContext>();
    slow_ = stub_->DeclareModel(slow_context_.get(), &slow_reply_);
    slow_->Write(request);
    absl::SleepFor(absl::Milliseconds(i));
    other = Declare(Declaration(kModel), {1}).status();  // One that would not be stored.
    if (!absl::IsUnavailable(other)) StopSlow();
  }
  EXPECT_EQ(other, absl::UnavailableError("the model of another worker is on its way"));
  clock_.Advance(ModelIntake::kStill);
  const absl::StatusOr<v1::DeclareModelReply> reply = Declare(Declaration(kModel), kValues);
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_TRUE(reply->stored());
  StopSlow();
}

TEST_F(ModelIntakeTest, AStreamThatEndsBeforeItsDeclarationIsNoModelWithoutTensors) {
  Ask();
  grpc::ClientContext context;
  v1::DeclareModelReply reply;
  const auto writer = stub_->DeclareModel(&context, &reply);
  writer->WritesDone();
  EXPECT_EQ(FromGrpcStatus(writer->Finish()),
            absl::InvalidArgumentError("no declaration has come"));
  EXPECT_FALSE(intake_.Await(absl::ZeroDuration()).has_value());
}

TEST_F(ModelIntakeTest, ValuesThatAreTooFewTooManyOrNoNumbersAreRefused) {
  Ask();
  EXPECT_TRUE(absl::IsInvalidArgument(Declare(Declaration(kModel), {1, 2}).status()));
  std::vector<float> more = kValues;
  more.push_back(1);
  EXPECT_TRUE(absl::IsInvalidArgument(Declare(Declaration(kModel), more).status()));
  std::vector<float> nan = kValues;
  nan[3] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(Declare(Declaration(kModel), nan).status(),
            absl::InvalidArgumentError(
                "tensor fc.weight begins with values that are not finite numbers"));
  EXPECT_FALSE(intake_.Await(absl::ZeroDuration()).has_value());
}

}  // namespace
}  // namespace capstan::chief
