// From where a chief has the model of a job whose workers compute with the user's own program.
#include "chief/shell/learn_model.h"

#include <gmock/gmock.h>
#include <grpcpp/client_context.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include <csignal>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "capstan/base/wire_version.h"
#include "capstan/checkpoint/checkpoint_reader.h"
#include "capstan/checkpoint/state_format.h"
#include "capstan/rpc/channel.h"
#include "capstan/rpc/status.h"
#include "tests/lib/test_folder.h"
#include "tests/unit/model/declared.h"

namespace capstan::chief {
namespace {

using Learned = absl::StatusOr<std::optional<v1::StoredModel>>;

// The doors of a chief on loopback, and a folder for its job.
class LearnModelTest : public testing::Test {
 protected:
  LearnModelTest() {
    job_.set_job("small");
    job_.set_partition_count(4);
    job_.mutable_model()->set_user("m.py");
    job_.mutable_dense_optimizer()->set_kind(v1::OPTIMIZER_KIND_SGD);
    job_.mutable_checkpoint()->set_uri(temporary_.path());
    options_.listen = "127.0.0.1:0";
    options_.service.health_port = 0;
    options_.service.metrics_port = 0;
    EXPECT_EQ(doors_.Open(options_), absl::OkStatus());
    store_ = *JobStore::Open(temporary_.path(), "small");
    stub_ = v1::Chief::NewStub(NewPlainChannel(absl::StrCat("127.0.0.1:", doors_.server->port())));
  }

  std::future<Learned> BeginToLearn() {
    return std::async(std::launch::async,
                      [this] { return LearnModel(options_, job_, *store_, doors_); });
  }
  void UntilAsked() {
    const absl::Time deadline = absl::Now() + absl::Minutes(1);
    while (!doors_.models.WantsModel()) {
      ASSERT_LT(absl::Now(), deadline);
      absl::SleepFor(absl::Milliseconds(1));
    }
  }

  // What a worker is answered that declares this model.
  absl::Status Declare(const v1::ModelDeclaration& declaration) {
    const std::vector<float> values = {10, 20, 1, 2, 3, 4, 5, 6};
    grpc::ClientContext context;
    v1::DeclareModelReply reply;
    const auto writer = stub_->DeclareModel(&context, &reply);
    v1::DeclareModelRequest request;
    *request.mutable_declaration() = declaration;
    request.set_values(values.data(), values.size() * sizeof(float));
    writer->Write(request);
    writer->WritesDone();
    return FromGrpcStatus(writer->Finish());
  }

  // What another worker has declared before.
  v1::StoredModel KeepModel() {
    v1::StoredModel model;
    model.set_format(1);
    model.set_initial("initial/before");
    *model.mutable_declaration() = Declaration({{"old", {1}}});
    EXPECT_EQ(JobStore::Open(temporary_.path(), "small").value()->WriteModel(model),
              absl::OkStatus());
    return model;
  }
  void KeepState(const std::string& fresh_once) {
    v1::ChiefState state;
    state.set_format(kStateFormat);
    state.set_term(1);
    state.set_fresh_once(fresh_once);
    EXPECT_EQ(JobStore::Open(temporary_.path(), "small").value()->WriteState(state),
              absl::OkStatus());
  }
  void DamageModel() {
    const auto folder = OpenObjectStore(JobStore::FolderUri(temporary_.path(), "small"));
    EXPECT_EQ(folder.value()->Put("state/model.json", "no model"), absl::OkStatus());
  }

  const TestFolder temporary_;
  v1::JobSpec job_;
  ProcessOptions options_;
  metrics::Registry registry_;
  std::unique_ptr<JobStore> store_;
  Doors doors_{registry_, /*t=*/nullptr};
  std::unique_ptr<v1::Chief::Stub> stub_;
};

TEST_F(LearnModelTest, AJobThatGoesOnHasTheModelThatIsStoredAndNobodyIsAsked) {
  const v1::StoredModel kept = KeepModel();
  const Learned learned = LearnModel(options_, job_, *store_, doors_);
  ASSERT_TRUE(learned.ok() && learned->has_value()) << learned.status();
  EXPECT_EQ((*learned)->SerializeAsString(), kept.SerializeAsString());
  EXPECT_FALSE(doors_.models.WantsModel());
}

TEST_F(LearnModelTest, TheFirstWorkersModelIsTheJobsWithTheValuesThatItBeginsWith) {
  std::future<Learned> learning = BeginToLearn();
  UntilAsked();
  ASSERT_EQ(Declare(Declaration(kModel)), absl::OkStatus());
  const Learned learned = learning.get();
  ASSERT_TRUE(learned.ok() && learned->has_value()) << learned.status();
  EXPECT_EQ((*learned)->declaration().tensors_size(), 2);
  const auto values = CheckpointReader::Open(InitialUri(job_, *learned));
  ASSERT_TRUE(values.ok()) << values.status();
  EXPECT_EQ(values->manifest().job().tensors_size(), 2);
}

TEST_F(LearnModelTest, AJobThatStartsOverAsksForItsModelAnewHoweverOftenItsChiefIsStarted) {
  KeepModel();
  KeepState(/*fresh_once=*/"monday");
  options_.fresh_once = "monday";
  EXPECT_TRUE(LearnModel(options_, job_, *store_, doors_).value().has_value())
      << "it was started over by this name";
  options_.fresh_once = "tuesday";
  std::future<Learned> learning = BeginToLearn();
  UntilAsked();
  ASSERT_EQ(Declare(Declaration(kModel)), absl::OkStatus());
  EXPECT_EQ(learning.get().value()->declaration().tensors_size(), 2);
}

TEST_F(LearnModelTest, ADamagedModelIsToldUnlessTheJobStartsOverWhichWritesItsOwn) {
  DamageModel();
  EXPECT_TRUE(absl::IsDataLoss(LearnModel(options_, job_, *store_, doors_).status()));
  options_.fresh = true;
  std::future<Learned> learning = BeginToLearn();
  UntilAsked();
  ASSERT_EQ(Declare(Declaration(kModel)), absl::OkStatus());
  const Learned learned = learning.get();
  ASSERT_TRUE(learned.ok() && learned->has_value()) << learned.status();
  EXPECT_TRUE(store_->ReadModel().ok());
}

// The store of the job goes when its chief ends, before the ports do.
TEST_F(LearnModelTest, AChiefThatIsAskedToStopTakesInNoModelAnyMore) {
  // The signal is handled by the thread that learns, as it is where a process has one for it.
  std::thread asks([this, learns = pthread_self()] {
    UntilAsked();
    pthread_kill(learns, SIGTERM);
  });
  const Learned learned = LearnModel(options_, job_, *store_, doors_);
  asks.join();
  ASSERT_TRUE(learned.ok()) << learned.status();
  EXPECT_FALSE(learned->has_value());
  store_.reset();
  EXPECT_TRUE(absl::IsUnavailable(Declare(Declaration(kModel))));
}

TEST_F(LearnModelTest, ProgramsHearOfTheJobWithoutTensors) {
  EXPECT_EQ(InitialUri(job_, std::nullopt), "");
  v1::RegisterWorkerRequest worker;
  worker.set_wire_version(kWireVersion);
  v1::StoredModel model;
  *model.mutable_declaration() = Declaration(kModel);
  job_.add_tensors()->set_name("fc.weight");
  TellPrograms(job_, model, doors_);
  const auto answer = doors_.models.Answer(worker);
  ASSERT_TRUE(answer && answer->ok());
  EXPECT_FALSE((*answer)->model_wanted());
  EXPECT_EQ((*answer)->job().job(), "small");
  EXPECT_EQ((*answer)->job().tensors_size(), 0);
}

// A chief that could not lead a job of a program looks again when its file has changed.
TEST_F(LearnModelTest, WorkersOfAJobOfTowersAreNotToldOfTheProgramThatItsFileNamedBefore) {
  std::future<Learned> learning = BeginToLearn();
  UntilAsked();
  ASSERT_EQ(Declare(Declaration(kModel)), absl::OkStatus());
  ASSERT_TRUE(learning.get().ok());
  v1::RegisterWorkerRequest worker;
  worker.set_wire_version(kWireVersion);
  EXPECT_TRUE(doors_.models.Answer(worker).has_value());
  job_.mutable_model()->clear_user();
  TellPrograms(job_, std::nullopt, doors_);
  EXPECT_FALSE(doors_.models.Answer(worker).has_value()) << "they register";
  EXPECT_FALSE(doors_.models.WantsModel());
}

}  // namespace
}  // namespace capstan::chief
