// Keys, tokens, certificates and routes that are refused for a while, in injected time: who
// outlasts refusals goes on by itself once they are taken, and answers to HEAD, which do not say
// why they refuse, are mended as those to GET are.
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/lib/test_folder.h"
#include "tests/unit/objectstore/s3/scripted_world.h"

namespace capstan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

constexpr absl::Duration kPatience = absl::Minutes(15);

ScriptedHttp::Answer Refused(int status, const std::string& code) {
  return HttpResponse{.status = status,
                      .body = absl::StrCat("<Error><Code>", code, "</Code></Error>")};
}

void WriteKeys(const std::filesystem::path& folder, const std::string& access) {
  std::ofstream(folder / "AWS_ACCESS_KEY_ID") << access;
  std::ofstream(folder / "AWS_SECRET_ACCESS_KEY") << "secret";
}

class S3RefusalTest : public testing::Test {
 protected:
  // As a worker reads its data.
  void Outlast() {
    world_.options.attempts = 1 << 20;
    world_.options.deadline = kPatience;
    world_.options.outlasts_refusals = true;
  }

  // Is answered so until `end` has gone by, and then with an object.
  void AnswerUntil(absl::Duration end, const ScriptedHttp::Answer& refusal) {
    http_.otherwise = [this, refusal, end = world_.clock.Now() + end](const HttpRequest&) {
      return world_.clock.Now() < end ? refusal : HttpResponse{.status = 200, .body = "x"};
    };
  }

  ScriptedWorld world_;
  ScriptedHttp& http_ = world_.http;
};

TEST_F(S3RefusalTest, WhoOutlastsThemReadsOnOnceWhatWasRefusedIsTaken) {
  Outlast();
  const std::vector<ScriptedHttp::Answer> refusals = {
      Refused(403, "InvalidAccessKeyId"),
      Refused(403, "AccessDenied"),
      Refused(400, "ExpiredToken"),
      Refused(404, "NoSuchBucket"),
      HttpResponse{.status = 401},
      HttpResponse{.status = 404, .body = "default backend - 404"},
      HttpResponse{.status = 302, .headers = {{"location", "https://elsewhere/"}}},
      absl::FailedPreconditionError("certificate"),
  };
  for (const ScriptedHttp::Answer& refusal : refusals) {
    AnswerUntil(absl::Minutes(2), refusal);
    const auto read = world_.Open()->Get("a");
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(*read, "x");
  }
}

TEST_F(S3RefusalTest, PausesGrowBehindTheOneAttemptThatIsMadeAtOnce) {
  Outlast();
  AnswerUntil(absl::Seconds(1), Refused(403, "InvalidAccessKeyId"));
  ASSERT_TRUE(world_.Open()->Get("a").ok());
  EXPECT_THAT(world_.pauses, ElementsAre(absl::Milliseconds(100), absl::Milliseconds(200),
                                         absl::Milliseconds(400), absl::Milliseconds(800)));
  EXPECT_THAT(http_.requests, SizeIs(6));
}

TEST_F(S3RefusalTest, PatienceHasAnEndAndTheLastAnswerIsTold) {
  Outlast();
  const absl::Time begin = world_.clock.Now();
  AnswerUntil(2 * kPatience, Refused(403, "AccessDenied"));
  const absl::Status status = world_.Open()->Get("a").status();
  EXPECT_TRUE(absl::IsPermissionDenied(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("HTTP 403 AccessDenied"));
  EXPECT_LT(world_.clock.Now() - begin, kPatience);
  EXPECT_GT(world_.clock.Now() - begin, kPatience - absl::Minutes(1));
}

TEST_F(S3RefusalTest, WhatIsWrongOrAbsentIsToldAtOnceHoweverPatientOneIs) {
  Outlast();
  for (const auto& [http, code] :
       std::vector<std::pair<int, std::string>>{{400, "InvalidArgument"}, {404, "NoSuchKey"}}) {
    http_.Then(Refused(http, code));
    EXPECT_FALSE(world_.Open()->Get("a").ok()) << code;
  }
  EXPECT_THAT(world_.pauses, SizeIs(0));
}

TEST_F(S3RefusalTest, TellsWhatIsAnsweredAndWhenThatIsOver) {
  Outlast();
  std::vector<std::string> told;
  world_.options.on_trouble = [&](const absl::Status& status) {
    told.emplace_back(status.ok() ? "over" : status.message());
  };
  const auto store = world_.Open();
  http_.Then(Refused(403, "InvalidAccessKeyId"));
  http_.Then(absl::UnavailableError("reset"));
  http_.Then(200, "x");
  http_.Then(200, "y");
  ASSERT_TRUE(store->Get("a").ok());
  ASSERT_TRUE(store->Get("a").ok());
  EXPECT_THAT(told, ElementsAre("S3 GET ctr/a: HTTP 403 InvalidAccessKeyId", "reset", "over"));
}

TEST_F(S3RefusalTest, KeysThatAreMadeLaterAreUsedWhenTheyAreThere) {
  Outlast();
  const TestFolder folder;
  world_.options.keys_folder = folder.path();
  S3World world = world_.World();
  world.sleep = [&, sleep = world.sleep](absl::Duration pause) {
    sleep(pause);
    if (world_.pauses.size() == 5) WriteKeys(folder.path(), "AKIALATER");
  };
  http_.Then(200, "x");
  const auto store = *OpenS3ObjectStore({"ads", "ctr"}, world_.options, world);
  EXPECT_EQ(*store->Get("a"), "x");
  EXPECT_THAT(world_.pauses, SizeIs(5));
  EXPECT_THAT(http_.Header(0, "authorization"), HasSubstr("Credential=AKIALATER/"));
}

TEST_F(S3RefusalTest, CredentialsThatCannotBeHadSayNothingOfTheObject) {
  const TestFolder folder;
  world_.options.access_key.clear();
  world_.options.role_arn = "arn";
  world_.options.web_identity_token_file = folder.path() + "/token";
  EXPECT_TRUE(absl::IsUnauthenticated(world_.Open()->Get("a").status())) << "no token yet";
  folder.Write("token", "token");
  for (const ScriptedHttp::Answer& answer : std::vector<ScriptedHttp::Answer>{
           Refused(400, "InvalidIdentityToken"), Refused(400, "ValidationError"),
           Refused(404, "NoSuchKey"), HttpResponse{.status = 200, .body = "<R/>"}}) {
    http_.Then(answer);
    const absl::Status status = world_.Open()->Get("a").status();
    EXPECT_TRUE(absl::IsUnauthenticated(status)) << status;
  }
}

TEST_F(S3RefusalTest, AHeadThatIsRefusedCorrectsTheClockByItsDate) {
  http_.Then(403, "", {{"date", "Fri, 15 Jan 2027 09:00:00 GMT"}});
  http_.Then(200, "", {{"content-length", "5"}});
  const auto found = world_.Open()->Stat("a");
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->bytes, 5u);
  EXPECT_EQ(http_.Header(0, "x-amz-date"), "20270115T080000Z");
  EXPECT_EQ(http_.Header(1, "x-amz-date"), "20270115T090000Z");
}

TEST_F(S3RefusalTest, AHeadThatIsRefusedInTimeHasTheKeysReadAnewOnce) {
  for (const int refusal : {400, 403}) {
    const TestFolder folder;
    world_.options.keys_folder = folder.path();
    WriteKeys(folder.path(), "AKIAOLD");
    const auto store = world_.Open();
    http_.requests.clear();
    http_.script.push_back([&](const HttpRequest&) {
      WriteKeys(folder.path(), "AKIANEW");
      return HttpResponse{.status = refusal,
                          .headers = {{"date", "Fri, 15 Jan 2027 08:00:01 GMT"}}};
    });
    http_.Then(200, "", {{"content-length", "5"}});
    EXPECT_TRUE(store->Stat("a").ok()) << refusal;
    EXPECT_THAT(http_.Header(0, "authorization"), HasSubstr("Credential=AKIAOLD/"));
    EXPECT_THAT(http_.Header(1, "authorization"), HasSubstr("Credential=AKIANEW/"));
    http_.Then(refusal);
    http_.Then(refusal);
    EXPECT_EQ(store->Stat("a").status().code(), refusal == 400
                                                    ? absl::StatusCode::kUnauthenticated
                                                    : absl::StatusCode::kPermissionDenied);
  }
}

TEST_F(S3RefusalTest, AnObjectIsAbsentWhereTheStoreItselfSaysSo) {
  http_.Then(404);
  http_.ThenError(404, "NoSuchKey");
  EXPECT_TRUE(absl::IsNotFound(world_.Open()->Stat("a").status()));
  EXPECT_EQ(http_.requests[1].method, "GET");
}

TEST_F(S3RefusalTest, AnObjectBehindALostRouteIsFoundWhenTheRouteIsBack) {
  http_.Then(404);
  http_.Then(404, "default backend - 404");
  http_.Then(206, "x", {{"content-range", "bytes 0-0/5"}});
  http_.Then(200, "", {{"content-length", "5"}});
  const auto found = world_.Open()->Stat("a");
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->bytes, 5u);
  EXPECT_EQ(http_.requests.back().method, "HEAD");
}

}  // namespace
}  // namespace capstan
