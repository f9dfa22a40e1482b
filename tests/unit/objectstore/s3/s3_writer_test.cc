// Parts of one upload that are on their way at once.
#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/objectstore/s3/scripted_world.h"

namespace capstan {
namespace {

using testing::HasSubstr;

// A server that answers no part before `together` of them have come. *Thread-safe*.
class TogetherHttp : public Http {
 public:
  absl::StatusOr<HttpResponse> Send(const HttpRequest& request) override {
    if (request.method == "DELETE") {
      absl::MutexLock lock(&mu_);
      under_way_at_abort = under_way_;
      return HttpResponse{.status = 204};
    }
    if (request.method == "PUT") return SendPart(request);
    absl::MutexLock lock(&mu_);
    if (absl::StrContains(request.url, "uploads")) {
      return HttpResponse{.status = 200, .body = "<R><UploadId>u</UploadId></R>"};
    }
    completion = std::string(request.body);
    return HttpResponse{.status = 200, .body = "<CompleteMultipartUploadResult/>"};
  }

  int together = 1;
  std::string refused = "none";  // A part with this body.

  absl::Mutex mu_;
  int most_under_way ABSL_GUARDED_BY(mu_) = 0;
  int under_way_at_abort ABSL_GUARDED_BY(mu_) = -1;
  std::string completion ABSL_GUARDED_BY(mu_);

 private:
  absl::StatusOr<HttpResponse> SendPart(const HttpRequest& request) {
    absl::MutexLock lock(&mu_);
    ++come_;
    most_under_way = std::max(most_under_way, ++under_way_);
    const auto all = [this] {
      mu_.AssertReaderHeld();
      return come_ >= together;
    };
    const bool came = mu_.AwaitWithTimeout(absl::Condition(&all), absl::Seconds(20));
    --under_way_;
    if (!came) return absl::InternalError("the others have not come");
    if (request.body == refused) return HttpResponse{.status = 403};
    return HttpResponse{.status = 200, .headers = {{"etag", std::string(request.body)}}};
  }

  int come_ ABSL_GUARDED_BY(mu_) = 0;
  int under_way_ ABSL_GUARDED_BY(mu_) = 0;
};

class S3PartsTest : public testing::Test {
 protected:
  S3PartsTest() {
    world_.options.part_bytes = 1;
    world_.options.parts_at_once = 4;
    store_ = *OpenS3ObjectStore({"ads", "ctr"}, world_.options,
                                {.http = http_,
                                 .clock = world_.clock,
                                 .now = [] { return absl::UnixEpoch(); },
                                 .sleep = [](absl::Duration) {},
                                 .unit = [] { return 0.5; }});
    writer_ = *store_->Create("a");
  }

  ScriptedWorld world_;
  TogetherHttp http_;
  std::unique_ptr<ObjectStore> store_;
  std::unique_ptr<ObjectWriter> writer_;
};

TEST_F(S3PartsTest, TravelTogetherAndAreCompletedInOrder) {
  http_.together = 3;
  ASSERT_TRUE(writer_->Append("abcdefg").ok());
  ASSERT_TRUE(writer_->Commit().ok());
  absl::MutexLock lock(&http_.mu_);
  EXPECT_GE(http_.most_under_way, 3);
  EXPECT_LE(http_.most_under_way, 4);
  for (const char* part : {"1</PartNumber><ETag>a<", "2</PartNumber><ETag>b<",
                           "6</PartNumber><ETag>f<", "7</PartNumber><ETag>g<"}) {
    EXPECT_THAT(http_.completion, HasSubstr(part));
  }
}

TEST_F(S3PartsTest, AreWaitedForBeforeTheUploadIsAborted) {
  http_.together = 4;
  http_.refused = "b";
  const absl::Status appended = writer_->Append("abcdefg");
  EXPECT_TRUE(absl::IsPermissionDenied(appended.ok() ? writer_->Commit() : appended));
  EXPECT_TRUE(absl::IsPermissionDenied(writer_->Commit()));
  writer_.reset();
  absl::MutexLock lock(&http_.mu_);
  EXPECT_EQ(http_.under_way_at_abort, 0);
}

TEST(S3AbortTest, TriesOnceToAbortWhatHasFailed) {
  ScriptedWorld world;
  world.options.part_bytes = 1;
  world.options.parts_at_once = 1;
  const auto store = world.Open();
  world.http.Then(200, "<R><UploadId>u</UploadId></R>");
  world.http.ThenError(403, "AccessDenied");
  world.http.otherwise = [](const HttpRequest&) { return HttpResponse{.status = 503}; };
  auto writer = *store->Create("a");
  EXPECT_TRUE(absl::IsPermissionDenied(writer->Append("x")));
  writer.reset();
  ASSERT_EQ(world.http.requests.size(), 3u);
  EXPECT_EQ(world.http.requests[2].method, "DELETE");
}

}  // namespace
}  // namespace capstan
