#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "capstan/base/status.h"
#include "capstan/objectstore/s3/digest.h"
#include "capstan/objectstore/s3/s3_object_store.h"

namespace capstan {
namespace {

constexpr size_t kMostOnAPage = 1000;

absl::StatusOr<S3Listing> FetchPage(S3Client& client, S3Call call, const std::string& token) {
  if (!token.empty()) call.query.emplace_back("continuation-token", token);
  const S3Result result = client.Send(call);
  CAPSTAN_RETURN_IF_ERROR(result.response.status());
  CAPSTAN_ASSIGN_OR_RETURN(const XmlElement answer, ParseXml(result.response->body));
  return ReadS3Listing(answer);
}

}  // namespace

absl::StatusOr<S3Listing> ReadS3Listing(const XmlElement& answer) {
  if (answer.name != "ListBucketResult") {
    return absl::DataLossError(absl::StrCat("a listing begins with <", answer.name, ">"));
  }
  const bool encoded = answer.ChildText("EncodingType") == "url";
  S3Listing listing;
  for (const XmlElement& child : answer.children) {
    if (child.name != "Contents") continue;
    const std::string_view key = child.ChildText("Key");
    ObjectInfo object{.key = encoded ? UriDecode(key) : std::string(key)};
    const std::string_view size = child.ChildText("Size");
    if (object.key.empty() ||
        !absl::SimpleAtoi(absl::string_view(size.data(), size.size()), &object.bytes)) {
      return absl::DataLossError("a listing holds an object without a key or a size");
    }
    listing.objects.push_back(std::move(object));
  }
  if (answer.ChildText("IsTruncated") != "true") return listing;
  listing.next = std::string(answer.ChildText("NextContinuationToken"));
  if (!listing.next.empty()) return listing;
  return absl::DataLossError("a listing says that there is more, but not where");
}

absl::StatusOr<std::vector<ObjectInfo>> ListS3Objects(S3Client& client, const std::string& prefix,
                                                      const std::string& after, size_t limit) {
  std::vector<ObjectInfo> found;
  std::string token;
  std::string last = after;
  while (found.size() < limit) {
    const size_t wanted = std::min(kMostOnAPage, limit - found.size());
    S3Call call{.method = "GET",
                .query = {{"list-type", "2"},
                          {"encoding-type", "url"},
                          {"max-keys", absl::StrCat(wanted)},
                          {"prefix", prefix}},
                .xml_answer = true};
    if (!after.empty()) call.query.emplace_back("start-after", after);
    CAPSTAN_ASSIGN_OR_RETURN(S3Listing page, FetchPage(client, std::move(call), token));
    for (ObjectInfo& object : page.objects) {
      // Each page must begin after the one before it, or this loop would never end.
      if (object.key <= last || !absl::StartsWith(object.key, prefix)) {
        return absl::DataLossError(absl::StrCat("a listing of '", prefix, "' holds '", object.key,
                                                "' behind '", last, "'"));
      }
      last = object.key;
      // A key that ends with a slash represents an empty folder in consoles.
      if (!absl::EndsWith(object.key, "/")) found.push_back(std::move(object));
    }
    if (page.next.empty()) break;
    if (page.next == token || page.objects.empty()) {
      return absl::DataLossError(absl::StrCat("a listing of '", prefix, "' does not go on"));
    }
    token = std::move(page.next);
  }
  if (found.size() > limit) found.resize(limit);
  return found;
}

}  // namespace capstan
