#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "capstan/objectstore/s3/s3_object_store.h"
#include "tests/unit/objectstore/s3/scripted_world.h"

namespace capstan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

absl::StatusOr<S3Listing> ReadListing(const std::string& inside) {
  return ReadS3Listing(
      *ParseXml(absl::StrCat("<ListBucketResult>", inside, "</ListBucketResult>")));
}

std::string ListedObject(const std::string& key, const std::string& size = "1") {
  return absl::StrCat("<Contents><Key>", key, "</Key><Size>", size, "</Size></Contents>");
}

TEST(ReadS3ListingTest, KeysAreDecodedWhereTheAnswerSaysThatTheyAreEncoded) {
  const std::string object = ListedObject("a%2Fb+c", "18446744073709551615");
  EXPECT_THAT(ReadListing(object)->objects, ElementsAre(ObjectInfo{"a%2Fb+c", UINT64_MAX}));
  EXPECT_THAT(ReadListing("<EncodingType>url</EncodingType>" + object)->objects,
              ElementsAre(ObjectInfo{"a/b c", UINT64_MAX}));
}

TEST(ReadS3ListingTest, ObjectsWithoutAKeyOrASizeAreDamage) {
  for (const std::string& object :
       {ListedObject(""), ListedObject("a", ""), ListedObject("a", "1.5"), ListedObject("a", "x"),
        ListedObject("a", "18446744073709551616"),
        std::string("<Contents><Size>1</Size></Contents>"),
        std::string("<Contents><Key>a</Key></Contents>")}) {
    EXPECT_TRUE(absl::IsDataLoss(ReadListing(object).status())) << object;
  }
  EXPECT_EQ(ReadS3Listing(*ParseXml("<html/>")).status(),
            absl::DataLossError("a listing begins with <html>"));
}

TEST(ReadS3ListingTest, ThereIsMoreOnlyIfTheAnswerSaysSoAndWhere) {
  const std::string token = "<NextContinuationToken>t</NextContinuationToken>";
  EXPECT_EQ(ReadListing("<IsTruncated>true</IsTruncated>" + token)->next, "t");
  EXPECT_EQ(ReadListing("<IsTruncated>false</IsTruncated>" + token)->next, "");
  EXPECT_EQ(ReadListing(token)->next, "");
  EXPECT_TRUE(absl::IsDataLoss(ReadListing("<IsTruncated>true</IsTruncated>").status()));
}

class S3ListingTest : public testing::Test {
 protected:
  absl::StatusOr<std::vector<ObjectInfo>> List(const std::string& prefix, const std::string& after,
                                               size_t limit) {
    return ListS3Objects(*client_, prefix, after, limit);
  }
  void ThenPage(const std::vector<std::string>& keys, const std::string& next = "") {
    std::string page;
    for (const std::string& key : keys) absl::StrAppend(&page, ListedObject(key));
    if (!next.empty()) {
      absl::StrAppend(&page, "<IsTruncated>true</IsTruncated><NextContinuationToken>", next,
                      "</NextContinuationToken>");
    }
    world_.http.Then(200, absl::StrCat("<ListBucketResult>", page, "</ListBucketResult>"));
  }
  static std::vector<std::string> KeysOf(const absl::StatusOr<std::vector<ObjectInfo>>& found) {
    std::vector<std::string> keys;
    if (!found.ok()) return {std::string(found.status().message())};
    for (const ObjectInfo& object : *found) keys.push_back(object.key);
    return keys;
  }

  ScriptedWorld world_;
  const std::unique_ptr<S3Client> client_ =
      *S3Client::Create(world_.options, "ads", world_.World());
};

TEST_F(S3ListingTest, NoMoreIsAskedForThanIsWanted) {
  ThenPage({"p/a", "p/b"}, "next");
  EXPECT_THAT(KeysOf(List("p/", "", 2)), ElementsAre("p/a", "p/b"));
  EXPECT_EQ(world_.http.requests.size(), 1u) << "two are enough";
  EXPECT_THAT(world_.http.requests[0].url, HasSubstr("max-keys=2&"));
  EXPECT_THAT(world_.http.requests[0].url, Not(HasSubstr("start-after")));
  EXPECT_TRUE(List("p/", "", 0)->empty());
  EXPECT_EQ(world_.http.requests.size(), 1u) << "of nothing nobody is asked";
}

TEST_F(S3ListingTest, AServerThatSendsMoreThanItWasAskedForIsCut) {
  ThenPage({"p/a", "p/b", "p/c"});
  EXPECT_THAT(KeysOf(List("p/", "", 2)), ElementsAre("p/a", "p/b"));
}

TEST_F(S3ListingTest, EmptyFoldersOfConsolesDoNotCountAgainstTheLimit) {
  ThenPage({"p/", "p/a"}, "next");
  ThenPage({"p/b"});
  EXPECT_THAT(KeysOf(List("p/", "", 2)), ElementsAre("p/a", "p/b"));
  EXPECT_THAT(world_.http.requests[1].url, HasSubstr("max-keys=1&"));
}

TEST_F(S3ListingTest, BeginsBehindTheKeyThatIsNamed) {
  ThenPage({"p/c"});
  EXPECT_THAT(KeysOf(List("p/", "p/b c", 10)), ElementsAre("p/c"));
  EXPECT_THAT(world_.http.requests[0].url, HasSubstr("start-after=p%2Fb%20c"));
  ThenPage({"p/b c"});
  EXPECT_THAT(KeysOf(List("p/", "p/b c", 10)),
              ElementsAre("a listing of 'p/' holds 'p/b c' behind 'p/b c'"));
}

TEST_F(S3ListingTest, KeysThatAreNotBelowThePrefixAreNotTaken) {
  ThenPage({"p/a", "q/b"});
  EXPECT_TRUE(absl::IsDataLoss(List("p/", "", 10).status()));
}

TEST_F(S3ListingTest, ARefusalIsTold) {
  world_.http.ThenError(403, "AccessDenied");
  EXPECT_TRUE(absl::IsPermissionDenied(List("p/", "", 10).status()));
  ThenPage({"p/a"}, "next");
  world_.http.ThenError(404, "NoSuchBucket");
  EXPECT_TRUE(absl::IsFailedPrecondition(List("p/", "", 10).status())) << "on a later page, too";
}

}  // namespace
}  // namespace capstan
