// The store against scripted answers: what it makes of every bad day of a server.
#include <map>

#include "absl/strings/match.h"
#include "capstan/objectstore/s3/digest.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/objectstore/s3/scripted_world.h"

namespace capstan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

class S3StoreTest : public testing::Test {
 protected:
  ScriptedWorld world_;
  ScriptedHttp& http_ = world_.http;
};

TEST_F(S3StoreTest, SignsWhatItSends) {
  http_.Then(200, "", {{"etag", "\"1\""}});
  ASSERT_EQ(*world_.Open()->PutIfAbsent("a+b/c", "body"), ObjectVersion{"\"1\""});
  const HttpRequest& request = http_.requests.front();
  EXPECT_EQ(request.method, "PUT");
  EXPECT_EQ(request.url, "https://s3.test/ads/ctr/a%2Bb/c");
  EXPECT_EQ(http_.Header(0, "if-none-match"), "*");
  EXPECT_EQ(http_.Header(0, "x-amz-content-sha256"), Hex(Sha256("body")));
  EXPECT_EQ(http_.Header(0, "x-amz-checksum-crc32c"), Crc32cText("body"));
  EXPECT_EQ(http_.Header(0, "x-amz-security-token"), "SessionToken");
  EXPECT_EQ(http_.Header(0, "x-amz-date"), "20270115T080000Z");
  EXPECT_THAT(http_.Header(0, "authorization"),
              HasSubstr("Credential=AccessKey/20270115/us-east-1/s3/aws4_request, SignedHeaders="
                        "host;if-none-match;x-amz-checksum-crc32c;x-amz-content-sha256;x-amz-date;"
                        "x-amz-meta-capstan-write;x-amz-security-token, Signature="));
}

TEST_F(S3StoreTest, TriesAgainAfterWhatPassesWithLongerPauses) {
  http_.ThenError(503, "SlowDown");
  http_.Then(absl::UnavailableError("reset"));
  http_.Then(absl::DeadlineExceededError("slow"));
  http_.ThenError(500, "InternalError");
  http_.Then(200, "", {{"etag", "\"1\""}});
  EXPECT_TRUE(world_.Open()->Put("a", "x").ok());
  EXPECT_THAT(world_.pauses, ElementsAre(absl::Milliseconds(50), absl::Milliseconds(100),
                                         absl::Milliseconds(200), absl::Milliseconds(400)));
  EXPECT_THAT(http_.bodies, testing::Each("x"));
}

TEST_F(S3StoreTest, WaitsAsLongAsTheServerSays) {
  http_.ThenError(503, "SlowDown", {{"retry-after", "4"}});
  http_.Then(200, "", {{"etag", "\"1\""}});
  EXPECT_TRUE(world_.Open()->Put("a", "x").ok());
  EXPECT_THAT(world_.pauses, ElementsAre(absl::Seconds(4)));
}

TEST_F(S3StoreTest, GivesUpAfterTheLastAttempt) {
  world_.options.attempts = 3;
  for (int i = 0; i < 3; ++i) http_.ThenError(503, "SlowDown");
  EXPECT_EQ(world_.Open()->Put("a", "x"),
            absl::UnavailableError("S3 PUT ctr/a: HTTP 503 SlowDown (3 attempts)"));
}

TEST_F(S3StoreTest, BeginsNoAttemptBehindTheDeadline) {
  world_.options.deadline = absl::Seconds(10);
  http_.otherwise = [](const HttpRequest&) {
    return HttpResponse{.status = 503, .headers = {{"retry-after", "4"}}};
  };
  EXPECT_TRUE(absl::IsUnavailable(world_.Open()->Put("a", "x")));
  EXPECT_THAT(http_.requests, SizeIs(3));  // At 0, 4 and 8 s.
  EXPECT_EQ(http_.requests[2].timeout, absl::Seconds(2));
}

TEST_F(S3StoreTest, DoesNotRepeatWhatIsRefused) {
  for (const auto& [http, code] :
       std::map<int, absl::StatusCode>{{400, absl::StatusCode::kInvalidArgument},
                                       {403, absl::StatusCode::kPermissionDenied},
                                       {404, absl::StatusCode::kNotFound},
                                       {301, absl::StatusCode::kFailedPrecondition},
                                       {307, absl::StatusCode::kFailedPrecondition}}) {
    http_.ThenError(http, http == 404 ? "NoSuchKey" : "Code", {{"location", "https://elsewhere/"}});
    EXPECT_EQ(world_.Open()->Get("a").status().code(), code) << http;
  }
  EXPECT_THAT(http_.requests, SizeIs(5));
}

TEST_F(S3StoreTest, TriesAConditionalWriteAgainAfterAConflict) {
  http_.ThenError(409, "ConditionalRequestConflict");
  http_.Then(200, "", {{"etag", "\"2\""}});
  EXPECT_EQ(*world_.Open()->PutIfMatch("a", "x", {"\"1\""}), ObjectVersion{"\"2\""});
  EXPECT_EQ(http_.Header(1, "if-match"), "\"1\"");
}

TEST_F(S3StoreTest, ReportsALostRace) {
  http_.ThenError(412, "PreconditionFailed");
  EXPECT_TRUE(absl::IsAlreadyExists(world_.Open()->PutIfAbsent("a", "x").status()));
  http_.ThenError(412, "PreconditionFailed");
  EXPECT_TRUE(absl::IsAborted(world_.Open()->PutIfMatch("a", "x", {"\"1\""}).status()));
  http_.ThenError(404, "NoSuchKey");
  EXPECT_TRUE(absl::IsAborted(world_.Open()->PutIfMatch("a", "x", {"\"1\""}).status()));
}

TEST_F(S3StoreTest, KnowsItsOwnWriteWhoseAnswerWasLost) {
  http_.Then(absl::UnavailableError("reset"));
  http_.ThenError(412, "PreconditionFailed");
  http_.script.push_back([this](const HttpRequest& request) {
    EXPECT_EQ(request.method, "HEAD");
    return HttpResponse{
        .status = 200,
        .headers = {{kWriteIdHeader, http_.Header(0, kWriteIdHeader)}, {"etag", "\"7\""}}};
  });
  EXPECT_EQ(*world_.Open()->PutIfAbsent("a", "x"), ObjectVersion{"\"7\""});
}

TEST_F(S3StoreTest, DoesNotTakeARivalsWriteForItsOwn) {
  http_.Then(absl::UnavailableError("reset"));
  http_.ThenError(412, "PreconditionFailed");
  http_.Then(200, "", {{kWriteIdHeader, "the rival's"}, {"etag", "\"7\""}});
  EXPECT_TRUE(absl::IsAlreadyExists(world_.Open()->PutIfAbsent("a", "x").status()));
}

TEST_F(S3StoreTest, FindsOutThatTheServerStoredOtherBytes) {
  http_.Then(200, "", {{"etag", "\"1\""}, {"x-amz-checksum-crc32c", Crc32cText("y")}});
  EXPECT_TRUE(absl::IsDataLoss(world_.Open()->Put("a", "x")));
  http_.Then(200, "y", {{"etag", "\"1\""}, {"x-amz-checksum-crc32c", Crc32cText("x")}});
  EXPECT_TRUE(absl::IsDataLoss(world_.Open()->Get("a").status()));
}

TEST_F(S3StoreTest, TakesNoOtherBytesThanItAskedFor) {
  const struct {
    int status;
    const char* range;
    const char* body;
  } kBad[] = {
      {200, "", "0123456789"},      {206, "", "34"},
      {206, "bytes 2-3/10", "34"},  {206, "bytes 3-4/10", "345"},
      {206, "bytes 3-5/10", "345"}, {206, "bytes 3-3/10", "3"},
      {206, "bytes 4-3/10", ""},    {206, "bytes x-4/10", "34"},
      {206, "bytes 3-4/4", "34"},
  };
  for (const auto& bad : kBad) {
    http_.Then(bad.status, bad.body, {{"content-range", bad.range}, {"etag", "\"1\""}});
    const absl::Status status = world_.Open()->Read("a", {.offset = 3, .length = 2}).status();
    EXPECT_TRUE(absl::IsDataLoss(status)) << bad.range << " " << status;
  }
  http_.Then(206, "34", {{"content-range", "bytes 3-4/10"}, {"etag", "\"1\""}});
  EXPECT_EQ(world_.Open()->Read("a", {.offset = 3, .length = 2})->bytes, "34");
}

TEST_F(S3StoreTest, CorrectsItsClockOnce) {
  const HttpHeaders date = {{"date", "Fri, 15 Jan 2027 09:00:00 GMT"}};
  http_.ThenError(403, "RequestTimeTooSkewed", date);
  http_.Then(200, "x");
  const auto store = world_.Open();
  EXPECT_EQ(*store->Get("a"), "x");
  EXPECT_EQ(http_.Header(1, "x-amz-date"), "20270115T090000Z");
  http_.ThenError(403, "RequestTimeTooSkewed", date);
  http_.ThenError(403, "RequestTimeTooSkewed", date);
  EXPECT_TRUE(absl::IsPermissionDenied(store->Get("a").status()));
}

std::string Page(const std::vector<std::string>& keys, const std::string& next) {
  std::string xml = "<ListBucketResult><EncodingType>url</EncodingType>";
  for (const std::string& key : keys) {
    absl::StrAppend(&xml, "<Contents><Key>", key, "</Key><Size>1</Size></Contents>");
  }
  absl::StrAppend(&xml, "<IsTruncated>", next.empty() ? "false" : "true", "</IsTruncated>");
  if (!next.empty())
    absl::StrAppend(&xml, "<NextContinuationToken>", next, "</NextContinuationToken>");
  return xml + "</ListBucketResult>";
}

TEST_F(S3StoreTest, ListsPageAfterPage) {
  http_.Then(200, Page({"ctr/a", "ctr/b%2Fc"}, "to/ken="));
  http_.Then(200, Page({"ctr/d+e", "ctr/folder/"}, ""));
  EXPECT_THAT(*world_.Open()->List(""),
              ElementsAre(ObjectInfo{"a", 1}, ObjectInfo{"b/c", 1}, ObjectInfo{"d e", 1}));
  EXPECT_EQ(http_.requests[0].url,
            "https://s3.test/ads/?encoding-type=url&list-type=2&max-keys=1000&prefix=ctr%2F");
  EXPECT_THAT(http_.requests[1].url, HasSubstr("continuation-token=to%2Fken%3D&"));
}

TEST_F(S3StoreTest, ReadsAListingOfTenThousandObjectsToItsEnd) {
  std::vector<std::string> keys;
  for (int page = 0; page < 10; ++page) {
    std::vector<std::string> on_page;
    for (int i = 0; i < 1000; ++i)
      on_page.push_back(absl::StrCat("ctr/", 10'000 + 1000 * page + i));
    http_.Then(200, Page(on_page, page < 9 ? absl::StrCat("page", page) : ""));
    keys.insert(keys.end(), on_page.begin(), on_page.end());
  }
  const std::vector<ObjectInfo> found = *world_.Open()->List("");
  ASSERT_EQ(found.size(), keys.size());
  for (size_t i = 0; i < keys.size(); ++i) ASSERT_EQ("ctr/" + found[i].key, keys[i]);
}

TEST_F(S3StoreTest, EndsAListingThatGoesInCircles) {
  for (const std::vector<std::string>& second :
       {std::vector<std::string>{"ctr/a"}, {"ctr/0"}, {"other/b"}, {}}) {
    http_.Then(200, Page({"ctr/a"}, "1"));
    http_.Then(200, Page(second, "2"));
    EXPECT_TRUE(absl::IsDataLoss(world_.Open()->List("").status()));
  }
  http_.Then(200, Page({"ctr/a"}, "1"));
  http_.Then(200, Page({"ctr/b"}, "1"));
  EXPECT_TRUE(absl::IsDataLoss(world_.Open()->List("").status()));
  const size_t before = http_.requests.size();
  http_.Then(200, Page({"ctr/a"}, "1"));
  http_.Then(200, Page({"ctr/b"}, "2"));
  http_.Then(200, Page({"ctr/a"}, "1"));
  EXPECT_TRUE(absl::IsDataLoss(world_.Open()->List("").status()));
  EXPECT_EQ(http_.requests.size(), before + 3);
}

TEST_F(S3StoreTest, RefusesAListingThatIsNone) {
  for (const char* body :
       {"", "<html/>", "<ListBucketResult>", "<ListBucketResult><Contents/></ListBucketResult>",
        "<ListBucketResult><Contents><Key>ctr/a</Key><Size>-1</Size></Contents></ListBucketResult>",
        "<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>",
        "<!DOCTYPE x [<!ENTITY y \"z\">]><ListBucketResult/>"}) {
    http_.Then(200, body);
    EXPECT_TRUE(absl::IsDataLoss(world_.Open()->List("").status())) << body;
  }
}

TEST_F(S3StoreTest, DeletesAThousandAtOnce) {
  const std::vector<std::string> keys(1001, "a&b");
  // "&" is in no key of ours.
  EXPECT_TRUE(absl::IsInvalidArgument(world_.Open()->DeleteAll(keys)));
  const std::vector<std::string> good(1001, "a");
  http_.Then(200, "<DeleteResult/>");
  http_.Then(200, "<DeleteResult/>");
  EXPECT_TRUE(world_.Open()->DeleteAll(good).ok());
  EXPECT_THAT(http_.requests, SizeIs(2));
  EXPECT_EQ(http_.Header(1, "content-md5"), Base64(Md5(http_.bodies[1])));
}

TEST_F(S3StoreTest, ReportsAnObjectThatWasNotDeleted) {
  http_.Then(
      200, "<DeleteResult><Error><Key>ctr/b</Key><Code>AccessDenied</Code></Error></DeleteResult>");
  const std::vector<std::string> keys = {"a", "b"};
  EXPECT_EQ(world_.Open()->DeleteAll(keys),
            absl::PermissionDeniedError("ctr/b: not deleted: AccessDenied"));
}

class S3WriterTest : public S3StoreTest {
 protected:
  void BeginAndTwoParts() {
    http_.Then(200,
               "<InitiateMultipartUploadResult><UploadId>up&amp;1</UploadId>"
               "</InitiateMultipartUploadResult>");
    http_.Then(200, "", {{"etag", "\"p1\""}});
    http_.Then(200, "", {{"etag", "\"p2\""}});
    writer_ = *store_->Create("a");
    ASSERT_TRUE(writer_->Append("12345678").ok());
  }

  std::unique_ptr<ObjectStore> OpenWithSmallParts() {
    world_.options.part_bytes = 4;
    world_.options.parts_at_once = 1;  // As scripted, one after the other.
    return world_.Open();
  }

  const std::unique_ptr<ObjectStore> store_ = OpenWithSmallParts();
  std::unique_ptr<ObjectWriter> writer_;
};

TEST_F(S3WriterTest, UploadsPartsAndCompletes) {
  BeginAndTwoParts();
  http_.Then(200, "", {{"etag", "\"p3\""}});
  http_.Then(200, "<CompleteMultipartUploadResult/>");
  ASSERT_TRUE(writer_->Append("9").ok());
  ASSERT_TRUE(writer_->Commit().ok());
  writer_.reset();
  EXPECT_EQ(http_.requests[1].url, "https://s3.test/ads/ctr/a?partNumber=1&uploadId=up%261");
  EXPECT_THAT(http_.bodies[4],
              HasSubstr("<Part><PartNumber>3</PartNumber><ETag>\"p3\"</ETag><ChecksumCRC32C>" +
                        Crc32cText("9") + "</ChecksumCRC32C></Part>"));
}

TEST_F(S3WriterTest, PutsASmallObjectWithOneRequest) {
  http_.Then(200, "", {{"etag", "\"1\""}});
  auto writer = *store_->Create("a");
  ASSERT_TRUE(writer->Append("123").ok());
  ASSERT_TRUE(writer->Commit().ok());
  EXPECT_THAT(http_.bodies, ElementsAre("123"));
}

TEST_F(S3WriterTest, AbortsAnUploadThatIsGivenUp) {
  BeginAndTwoParts();
  http_.Then(204);
  writer_.reset();
  EXPECT_EQ(http_.requests.back().method, "DELETE");
  EXPECT_EQ(http_.requests.back().url, "https://s3.test/ads/ctr/a?uploadId=up%261");
}

TEST_F(S3WriterTest, FailsForGoodAndAbortsWhenAPartIsRefused) {
  BeginAndTwoParts();
  http_.ThenError(403, "AccessDenied");
  EXPECT_TRUE(absl::IsPermissionDenied(writer_->Append("9abc")));
  EXPECT_TRUE(absl::IsPermissionDenied(writer_->Append("d")));
  EXPECT_TRUE(absl::IsPermissionDenied(writer_->Commit()));
  http_.Then(204);
  writer_.reset();
}

TEST_F(S3WriterTest, TriesAgainWhenAnAnswerOfSuccessHoldsAnError) {
  BeginAndTwoParts();
  http_.ThenError(200, "InternalError");
  http_.Then(200, "<CompleteMultipartUploadResult/>");
  EXPECT_TRUE(writer_->Commit().ok());
}

TEST_F(S3WriterTest, BelievesNoCompletionWithoutItsAnswer) {
  BeginAndTwoParts();
  http_.Then(200, "<Something/>");
  EXPECT_TRUE(absl::IsDataLoss(writer_->Commit()));
  http_.Then(204);
  writer_.reset();
}

TEST_F(S3WriterTest, KnowsItsOwnCompletionWhoseAnswerWasLost) {
  BeginAndTwoParts();
  http_.Then(absl::UnavailableError("reset"));
  http_.ThenError(404, "NoSuchUpload");
  http_.script.push_back([this](const HttpRequest&) {
    return HttpResponse{.status = 200,
                        .headers = {{kWriteIdHeader, http_.Header(0, kWriteIdHeader)}}};
  });
  EXPECT_TRUE(writer_->Commit().ok());
}

TEST_F(S3WriterTest, DoesNotTakeAnotherObjectForItsCompletion) {
  BeginAndTwoParts();
  http_.Then(absl::UnavailableError("reset"));
  http_.ThenError(404, "NoSuchUpload");
  http_.Then(200, "", {{kWriteIdHeader, "another"}});
  EXPECT_TRUE(absl::IsNotFound(writer_->Commit()));
  http_.Then(404);
  writer_.reset();
}

TEST_F(S3WriterTest, FindsAPartThatWasStoredOtherwise) {
  http_.Then(200, "<R><UploadId>u</UploadId></R>");
  http_.Then(200, "", {{"etag", "\"p1\""}, {"x-amz-checksum-crc32c", Crc32cText("other")}});
  auto writer = *store_->Create("a");
  EXPECT_TRUE(absl::IsDataLoss(writer->Append("1234")));
  http_.Then(204);
  writer.reset();
}

TEST_F(S3StoreTest, ShowsNoSecretInAnyMessage) {
  http_.otherwise = [](const HttpRequest&) -> ScriptedHttp::Answer {
    return HttpResponse{.status = 403,
                        .body =
                            "<Error><Code>SignatureDoesNotMatch</Code><Message>no</Message>"
                            "<StringToSign>AWS4 SessionToken</StringToSign></Error>"};
  };
  const auto store = world_.Open();
  const std::vector<std::string> keys = {"a", "b"};
  for (const absl::Status& status :
       {store->Put("a", "x"), store->Get("a").status(), store->Stat("a").status(),
        store->List("").status(), store->DeleteAll(keys),
        store->PutIfMatch("a", "x", {"\"1\""}).status()}) {
    ASSERT_FALSE(status.ok());
    EXPECT_THAT(status.ToString(), Not(HasSubstr("Secret/Key")));
    EXPECT_THAT(status.ToString(), Not(HasSubstr("SessionToken")));
    EXPECT_THAT(status.ToString(), Not(HasSubstr("Signature=")));
  }
  for (const HttpRequest& request : http_.requests) {
    for (const auto& [name, value] : request.headers) {
      EXPECT_FALSE(absl::StrContains(value, "Secret/Key")) << name;
    }
  }
}

}  // namespace
}  // namespace capstan
