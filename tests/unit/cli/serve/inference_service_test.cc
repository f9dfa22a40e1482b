#include "cli/serve/inference_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/model/stored_job.h"
#include "tests/unit/cli/serve/deepfm_folder.h"

namespace capstan::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

// Computes nothing: answers as told.
struct ScorerState {
  absl::Status failure;
  bool ready = true;
};

class ScorerAsTold : public BatchScorer {
 public:
  explicit ScorerAsTold(const ScorerState& state) : state_(state) {}

  absl::StatusOr<std::vector<float>> Logits(const Batch& batch) override {
    if (!state_.failure.ok()) return state_.failure;
    return std::vector<float>(batch.examples());
  }
  bool ready() const override { return state_.ready; }

 private:
  const ScorerState& state_;
};

class InferenceServiceTest : public testing::Test {
 protected:
  void Serve() {
    auto model = ServedModel::Make(
        folder_.path(), *FinishedModel::Load(folder_.path()),
        [this](const FinishedModel&) -> absl::StatusOr<std::unique_ptr<BatchScorer>> {
          return std::make_unique<ScorerAsTold>(state_);
        });
    ASSERT_TRUE(model.ok()) << model.status();
    service_.Replace(*std::move(model));
  }

  HttpAnswer Get(const std::string& path) {
    return service_.Answer({.method = "GET", .path = path, .body = ""});
  }
  HttpAnswer Post(const std::string& path, const std::string& body = kNothing) {
    return service_.Answer({.method = "POST", .path = path, .body = body});
  }

  // A request for the scores of no record.
  static constexpr char kNothing[] =
      R"({"id":"q","inputs":[{"name":"records","datatype":"BYTES","shape":[0],"data":[]}]})";

  const DeepFmFolder folder_;
  const std::string version_ = NameOfFolder(folder_.path());
  ScorerState state_;
  InferenceService service_{"ctr"};
};

TEST_F(InferenceServiceTest, IsAliveAndNotReadyBeforeTheFirstModel) {
  EXPECT_EQ(Get("/v2/health/live").status, 200);
  EXPECT_EQ(Get("/v2/health/ready").status, 503);
  EXPECT_EQ(Get("/v2/models/ctr/ready").status, 503);
  const HttpAnswer none = Post("/v2/models/ctr/infer");
  EXPECT_EQ(none.status, 503);
  EXPECT_EQ(none.body, "{\"error\":\"there is no version of this model yet\"}");
  Serve();
  EXPECT_EQ(Get("/v2/health/ready").status, 200);
}

TEST_F(InferenceServiceTest, IsNotReadyWhileNobodyCanCompute) {
  Serve();
  state_.ready = false;
  EXPECT_EQ(Get("/v2/health/ready").body, "{\"ready\":false}");
  EXPECT_EQ(Get("/v2/models/ctr/ready").status, 503);
  EXPECT_EQ(Get("/v2/health/live").status, 200);
}

TEST_F(InferenceServiceTest, OneThatLeavesIsReadyAtNoPathAndAnswersOn) {
  Serve();
  service_.Leave();
  EXPECT_EQ(Get("/v2/health/ready").status, 503);
  const HttpAnswer ready = Get("/v2/models/ctr/ready");
  EXPECT_EQ(ready.status, 503);
  EXPECT_EQ(ready.body, "{\"name\":\"ctr\",\"ready\":false}");
  EXPECT_EQ(Get("/v2/health/live").status, 200);
  EXPECT_EQ(Post("/v2/models/ctr/infer").status, 200);
  Serve();
  EXPECT_EQ(Get("/v2/health/ready").status, 503) << "a newer version does not call it back";
}

TEST_F(InferenceServiceTest, AnswersWithTheVersionAndTheIdOfTheRequest) {
  Serve();
  const std::string answered = Post("/v2/models/ctr/infer").body;
  EXPECT_THAT(answered, HasSubstr("\"model_name\":\"ctr\""));
  EXPECT_THAT(answered, HasSubstr(absl::StrCat("\"model_version\":\"", version_, "\"")));
  EXPECT_THAT(answered, HasSubstr("\"id\":\"q\""));
  EXPECT_THAT(Get("/v2/models/ctr").body, HasSubstr(absl::StrCat("\"versions\":[\"", version_)));
}

TEST_F(InferenceServiceTest, OnlyTheVersionThatIsServedExists) {
  Serve();
  const std::string versions = "/v2/models/ctr/versions/";
  EXPECT_EQ(Post(absl::StrCat(versions, version_, "/infer")).status, 200);
  EXPECT_EQ(Get(absl::StrCat(versions, version_, "/ready")).status, 200);
  EXPECT_EQ(Get(absl::StrCat(versions, version_)).status, 200);
  const HttpAnswer other = Post(absl::StrCat(versions, "1\"0/infer"));
  EXPECT_EQ(other.status, 404);
  EXPECT_THAT(other.body, HasSubstr("is not served; it is " + version_));
  EXPECT_EQ(Get("/v2/models/ctr/versions").status, 404);
}

TEST_F(InferenceServiceTest, TheStatusSaysWhoIsToBlame) {
  Serve();
  for (const auto& [failure, status] :
       {std::pair(absl::InvalidArgumentError("x"), 400),
        std::pair(absl::UnavailableError("x"), 503),
        std::pair(absl::DeadlineExceededError("x"), 504), std::pair(absl::InternalError("x"), 500),
        std::pair(absl::DataLossError("x"), 500)}) {
    state_.failure = failure;
    const HttpAnswer answer = Post("/v2/models/ctr/infer");
    EXPECT_EQ(answer.status, status) << failure;
    EXPECT_EQ(answer.body, "{\"error\":\"x\"}");
  }
  for (const char* body : {"", "{", "[]", "{\"inputs\":3}", "\xFF"}) {
    EXPECT_EQ(Post("/v2/models/ctr/infer", body).status, 400) << body;
  }
}

TEST_F(InferenceServiceTest, AnotherPathIsToldWhereTheModelIs) {
  Serve();
  for (const char* path : {"/", "/v2/", "/v2/models", "/v1/models/ctr:predict", ""}) {
    const HttpAnswer answer = Get(path);
    EXPECT_EQ(answer.status, 404) << path;
    EXPECT_THAT(answer.body, HasSubstr("the model is at /v2/models/ctr")) << path;
  }
  for (const char* path : {"/v2/models/ctrl/infer", "/v2/models/CTR", "/v2/models/"}) {
    const HttpAnswer answer = Post(path);
    EXPECT_EQ(answer.status, 404) << path;
    EXPECT_THAT(answer.body, HasSubstr("this server has the model ctr alone")) << path;
  }
  EXPECT_THAT(Get("/v2/models/ctr/predict").body, HasSubstr("expected infer or ready"));
}

TEST_F(InferenceServiceTest, AnotherMethodIsToldWhatIsAskedForByWhich) {
  Serve();
  EXPECT_EQ(Get("/v2/models/ctr/infer").status, 405);
  EXPECT_EQ(Post("/v2/models/ctr").status, 405);
  EXPECT_EQ(Post("/v2/models/ctr/ready").status, 405);
  const HttpAnswer elsewhere = Post("/v1/models/ctr:predict");
  EXPECT_EQ(elsewhere.status, 405);
  EXPECT_THAT(elsewhere.body, HasSubstr("by POST, at /v2/models/ctr/infer"));
}

TEST_F(InferenceServiceTest, CountsItsAnswersByTheirStatus) {
  Serve();
  Post("/v2/models/ctr/infer");
  Post("/v2/models/ctr/infer", "{");
  Get("/v2/models/ctr/ready");
  const HttpAnswer metrics = Get("/metrics");
  EXPECT_EQ(metrics.content_type, "text/plain");
  EXPECT_THAT(metrics.body, HasSubstr("capstan_serve_requests_total{code=\"200\"} 2\n"));
  EXPECT_THAT(metrics.body, HasSubstr("capstan_serve_requests_total{code=\"400\"} 1\n"));
  EXPECT_THAT(metrics.body, HasSubstr("capstan_serve_request_duration_seconds_count 1\n"));
}

TEST_F(InferenceServiceTest, ThePortOfHealthAnswersNothingElse) {
  Serve();
  const auto ask = [this](const std::string& method, const std::string& path) {
    return service_.AnswerOfHealth({.method = method, .path = path, .body = ""}).status;
  };
  EXPECT_EQ(ask("GET", "/v2/health/live"), 200);
  EXPECT_EQ(ask("GET", "/v2/health/ready"), 200);
  EXPECT_EQ(ask("GET", "/v2/models/ctr"), 404);
  EXPECT_EQ(ask("GET", "/metrics"), 404);
  EXPECT_EQ(ask("POST", "/v2/health/live"), 405);
  EXPECT_THAT(Get("/metrics").body, Not(HasSubstr("code=\"405\"")));
}

}  // namespace
}  // namespace capstan::cli
