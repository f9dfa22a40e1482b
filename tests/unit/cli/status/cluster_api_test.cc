#include "cli/status/cluster_api.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "tests/lib/test_folder.h"

namespace capstan::cli {
namespace {

using ::testing::Contains;
using ::testing::Pair;

// Answers everything with one status, and keeps what it was asked.
class FakeApi : public Http {
 public:
  explicit FakeApi(int status) : status_(status) {}

  absl::StatusOr<HttpResponse> Send(const HttpRequest& request) override {
    asked_ = request;
    body_ = std::string(request.body);
    return HttpResponse{.status = status_};
  }

  const HttpRequest& asked() const { return asked_; }
  const std::string& body() const { return body_; }

 private:
  const int status_;
  HttpRequest asked_;
  std::string body_;
};

const ClusterAccess kAccess = {
    .server = "https://10.0.0.1:443", .token = "a-token", .kube_namespace = "ads"};

TEST(ScaleDeploymentTest, PatchesTheScaleOfOneDeploymentInThePodsNamespace) {
  FakeApi api(200);
  ASSERT_TRUE(ScaleDeployment(api, kAccess, "ctr-worker", 0).ok());
  EXPECT_EQ(api.asked().method, "PATCH");
  EXPECT_EQ(api.asked().url,
            "https://10.0.0.1:443/apis/apps/v1/namespaces/ads/deployments/ctr-worker/scale");
  EXPECT_THAT(api.asked().headers, Contains(Pair("Authorization", "Bearer a-token")));
  EXPECT_THAT(api.asked().headers, Contains(Pair("Content-Type", "application/merge-patch+json")));
  EXPECT_EQ(api.body(), R"({"spec":{"replicas":0}})");
}

TEST(ScaleDeploymentTest, SaysWhetherItIsWorthTryingAgain) {
  for (const auto& [status, code] : {std::pair(403, absl::StatusCode::kPermissionDenied),
                                     std::pair(404, absl::StatusCode::kNotFound),
                                     std::pair(401, absl::StatusCode::kUnauthenticated),
                                     std::pair(409, absl::StatusCode::kFailedPrecondition),
                                     std::pair(429, absl::StatusCode::kUnavailable),
                                     std::pair(503, absl::StatusCode::kUnavailable)}) {
    FakeApi api(status);
    const absl::Status answer = ScaleDeployment(api, kAccess, "ctr-worker", 0);
    EXPECT_EQ(answer.code(), code) << status;
    EXPECT_EQ(answer.message().find("a-token"), absl::string_view::npos);
  }
}

class FindClusterAccessTest : public testing::Test {
 protected:
  void SetUp() override {
    setenv("KUBERNETES_SERVICE_HOST", "fd00::1", 1);
    setenv("KUBERNETES_SERVICE_PORT", "443", 1);
  }
  void TearDown() override {
    unsetenv("KUBERNETES_SERVICE_HOST");
    unsetenv("KUBERNETES_SERVICE_PORT");
  }
  void Write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ + "/" + name) << text;
  }

  const TestFolder temporary_;
  const std::string folder_ = temporary_.path();
};

TEST_F(FindClusterAccessTest, ReadsWhatAPodFinds) {
  Write("token", "a-token\n");
  Write("namespace", "ads");
  const absl::StatusOr<ClusterAccess> access = FindClusterAccess(folder_);
  ASSERT_TRUE(access.ok()) << access.status();
  EXPECT_EQ(access->server, "https://[fd00::1]:443");
  EXPECT_EQ(access->token, "a-token");
  EXPECT_EQ(access->kube_namespace, "ads");
  EXPECT_EQ(access->ca_file, folder_ + "/ca.crt");
}

TEST_F(FindClusterAccessTest, SaysThatItIsNoPodWithAToken) {
  Write("namespace", "ads");
  EXPECT_TRUE(absl::IsFailedPrecondition(FindClusterAccess(folder_).status()));
  Write("token", "a-token");
  unsetenv("KUBERNETES_SERVICE_HOST");
  EXPECT_TRUE(absl::IsFailedPrecondition(FindClusterAccess(folder_).status()));
}

}  // namespace
}  // namespace capstan::cli
