#include "capstan/objectstore/s3/options.h"

#include <map>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace capstan {
namespace {

absl::StatusOr<S3Options> Read(const std::map<std::string, std::string>& variables) {
  return S3OptionsFromEnvironment([&](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

TEST(S3OptionsTest, ReadsWhatAwsToolsRead) {
  const S3Options options = *Read({{"AWS_REGION", "eu-central-1"},
                                   {"AWS_DEFAULT_REGION", "us-west-2"},
                                   {"AWS_ENDPOINT_URL", "https://all"},
                                   {"AWS_ENDPOINT_URL_S3", "https://s3"},
                                   {"AWS_CA_BUNDLE", "/ca.pem"},
                                   {"AWS_ACCESS_KEY_ID", "id"},
                                   {"AWS_SECRET_ACCESS_KEY", "secret"},
                                   {"AWS_SESSION_TOKEN", "token"},
                                   {"AWS_ROLE_ARN", "arn"},
                                   {"AWS_WEB_IDENTITY_TOKEN_FILE", "/token"},
                                   {"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/v2/x"},
                                   {"AWS_REQUEST_CHECKSUM_CALCULATION", "when_required"},
                                   {"CAPSTAN_S3_ADDRESSING", "virtual"},
                                   {"CAPSTAN_S3_ALLOW_HTTP", "true"}});
  EXPECT_EQ(options.region, "eu-central-1");
  EXPECT_EQ(options.endpoint, "https://s3");
  EXPECT_EQ(options.sts_endpoint, "https://all");
  EXPECT_EQ(options.ca_file, "/ca.pem");
  EXPECT_EQ(options.access_key + options.secret_key + options.session_token, "idsecrettoken");
  EXPECT_EQ(options.role_arn + options.web_identity_token_file, "arn/token");
  EXPECT_EQ(options.container_credentials_uri, "http://169.254.170.2/v2/x");
  EXPECT_FALSE(options.checksums);
  EXPECT_EQ(options.addressing, S3Addressing::kVirtualHost);
  EXPECT_TRUE(options.allow_http);
}

TEST(S3OptionsTest, DoesNotAllowHttpUnlessTold) {
  EXPECT_FALSE(Read({})->allow_http);
  EXPECT_FALSE(Read({{"CAPSTAN_S3_ALLOW_HTTP", "false"}})->allow_http);
}

TEST(S3OptionsTest, RefusesAnUnknownAddressing) {
  EXPECT_TRUE(absl::IsInvalidArgument(Read({{"CAPSTAN_S3_ADDRESSING", "dns"}}).status()));
}

TEST(ParseS3UriTest, FindsBucketAndPrefix) {
  EXPECT_EQ(ParseS3Uri("s3://ads/ctr/1")->bucket, "ads");
  EXPECT_EQ(ParseS3Uri("s3://ads/ctr/1/")->prefix, "ctr/1");
  EXPECT_EQ(ParseS3Uri("s3://ads")->prefix, "");
  EXPECT_EQ(ParseS3Uri("s3://ads/")->prefix, "");
}

TEST(ParseS3UriTest, RefusesWhatIsNoBucket) {
  for (const char* uri : {"s3://", "s3:///x", "s3://ab/x", "s3://Upper/x", "s3://a..b/x",
                          "s3://-ab/x", "s3://abc?x/y", "s3://a b c/x", "http://abc/x", "abc/x"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ParseS3Uri(uri).status())) << uri;
  }
}

TEST(FindEndpointTest, PutsTheBucketIntoTheHostAtAws) {
  const S3Endpoint endpoint = *FindEndpoint({.region = "eu-west-1"}, "ads");
  EXPECT_EQ(endpoint.origin, "https://ads.s3.eu-west-1.amazonaws.com");
  EXPECT_EQ(endpoint.host, "ads.s3.eu-west-1.amazonaws.com");
  EXPECT_EQ(endpoint.base, "/");
}

TEST(FindEndpointTest, KnowsTheDomainThatAwsHasInChina) {
  EXPECT_EQ(FindEndpoint({.region = "cn-northwest-1"}, "ads")->host,
            "ads.s3.cn-northwest-1.amazonaws.com.cn");
}

TEST(FindEndpointTest, PutsTheBucketIntoThePathWhereACertificateWouldNotFit) {
  EXPECT_EQ(FindEndpoint({}, "ads.example")->base, "/ads.example/");
  EXPECT_EQ(FindEndpoint({}, "ads.example")->host, "s3.us-east-1.amazonaws.com");
}

TEST(FindEndpointTest, PutsTheBucketIntoThePathAtAnEndpointOfOnesOwn) {
  const S3Endpoint endpoint = *FindEndpoint({.endpoint = "https://minio:9000/"}, "ads");
  EXPECT_EQ(endpoint.origin, "https://minio:9000");
  EXPECT_EQ(endpoint.base, "/ads/");
  const S3Options virtual_host = {.endpoint = "https://minio:9000",
                                  .addressing = S3Addressing::kVirtualHost};
  EXPECT_EQ(FindEndpoint(virtual_host, "ads")->origin, "https://ads.minio:9000");
}

TEST(FindEndpointTest, RefusesPlainHttpUnlessItIsAllowed) {
  S3Options options = {.endpoint = "http://minio:9000"};
  EXPECT_TRUE(absl::IsFailedPrecondition(FindEndpoint(options, "ads").status()));
  options.allow_http = true;
  EXPECT_TRUE(FindEndpoint(options, "ads").ok());
}

TEST(FindEndpointTest, RefusesWhatIsNoAddress) {
  for (const char* endpoint :
       {"minio:9000", "ftp://x", "https://", "https://u:p@x", "https://x/y"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(FindEndpoint({.endpoint = endpoint}, "ads").status()))
        << endpoint;
  }
}

}  // namespace
}  // namespace capstan
