#include "capstan/objectstore/s3/sigv4.h"

#include "capstan/objectstore/s3/digest.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace capstan {
namespace {

using testing::EndsWith;

const char kSha256OfNothing[] = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

// The cases and signatures of AWS's published test suite.
class PublishedSuiteTest : public testing::Test {
 protected:
  std::string Sign(SigningInput input) {
    input.headers.insert(input.headers.begin(), {"Host", "example.amazonaws.com"});
    input.headers.emplace_back("X-Amz-Date", "20150830T123600Z");
    return Authorization(
        input,
        {.access_key = "AKIDEXAMPLE", .secret_key = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"},
        {.region = "us-east-1", .service = "service", .time = absl::FromUnixSeconds(1440938160)});
  }
};

TEST_F(PublishedSuiteTest, GetVanilla) {
  EXPECT_EQ(Sign({.method = "GET", .path = "/", .payload_sha256 = kSha256OfNothing}),
            "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, "
            "SignedHeaders=host;x-amz-date, "
            "Signature=5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31");
}

TEST_F(PublishedSuiteTest, PostVanilla) {
  EXPECT_THAT(Sign({.method = "POST", .path = "/", .payload_sha256 = kSha256OfNothing}),
              EndsWith("5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"));
}

TEST_F(PublishedSuiteTest, GetVanillaQueryOrderKeyCase) {
  EXPECT_THAT(Sign({.method = "GET",
                    .path = "/",
                    .query = {{"Param2", "value2"}, {"Param1", "value1"}},
                    .payload_sha256 = kSha256OfNothing}),
              EndsWith("b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"));
}

TEST_F(PublishedSuiteTest, GetHeaderValueTrim) {
  EXPECT_THAT(Sign({.method = "GET",
                    .path = "/",
                    .headers = {{"My-Header1", " value1"}, {"My-Header2", " \"a   b   c\""}},
                    .payload_sha256 = kSha256OfNothing}),
              EndsWith("acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736"));
}

TEST_F(PublishedSuiteTest, PostWithABody) {
  EXPECT_THAT(Sign({.method = "POST",
                    .path = "/",
                    .headers = {{"Content-Type", "application/x-www-form-urlencoded"}},
                    .payload_sha256 = Hex(Sha256("Param1=value1"))}),
              EndsWith("ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a"));
}

// The examples of the S3 manual, "Authenticating Requests: Using the Authorization Header".
class S3ManualTest : public testing::Test {
 protected:
  std::string Sign(SigningInput input) {
    input.headers.emplace_back("Host", "examplebucket.s3.amazonaws.com");
    input.headers.emplace_back("x-amz-content-sha256", input.payload_sha256);
    input.headers.emplace_back("x-amz-date", "20130524T000000Z");
    return Authorization(
        input,
        {.access_key = "AKIAIOSFODNN7EXAMPLE",
         .secret_key = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"},
        {.region = "us-east-1", .service = "s3", .time = absl::FromUnixSeconds(1369353600)});
  }
};

TEST_F(S3ManualTest, GetObjectWithARange) {
  EXPECT_EQ(Sign({.method = "GET",
                  .path = "/test.txt",
                  .headers = {{"Range", "bytes=0-9"}},
                  .payload_sha256 = kSha256OfNothing}),
            "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, "
            "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date, "
            "Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
}

TEST_F(S3ManualTest, PutObjectWhoseKeyMustBeEncoded) {
  EXPECT_THAT(Sign({.method = "PUT",
                    .path = "/" + UriEncode("test$file.text", Slash::kKeep),
                    .headers = {{"Date", "Fri, 24 May 2013 00:00:00 GMT"},
                                {"x-amz-storage-class", "REDUCED_REDUNDANCY"}},
                    .payload_sha256 = Hex(Sha256("Welcome to Amazon S3."))}),
              EndsWith("98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"));
}

TEST_F(S3ManualTest, GetAParameterWithoutAValue) {
  EXPECT_THAT(Sign({.method = "GET",
                    .path = "/",
                    .query = {{"lifecycle", ""}},
                    .payload_sha256 = kSha256OfNothing}),
              EndsWith("fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"));
}

TEST_F(S3ManualTest, ListObjects) {
  EXPECT_THAT(Sign({.method = "GET",
                    .path = "/",
                    .query = {{"max-keys", "2"}, {"prefix", "J"}},
                    .payload_sha256 = kSha256OfNothing}),
              EndsWith("34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"));
}

}  // namespace
}  // namespace capstan
