#include <algorithm>

#include "absl/strings/str_cat.h"
#include "capstan/base/status.h"
#include "capstan/objectstore/s3/digest.h"
#include "capstan/objectstore/s3/s3_object_store.h"
#include "capstan/objectstore/s3/xml.h"

namespace capstan {
namespace {

constexpr size_t kMostAtOnce = 1000;  // S3's own limit.

absl::Status DeleteOne(S3Client& client, const std::string& key) {
  const absl::Status status = client.Send({.method = "DELETE", .key = key}).response.status();
  return absl::IsNotFound(status) ? absl::OkStatus() : status;
}

absl::Status DeleteBatch(S3Client& client, std::span<const std::string> keys) {
  std::string xml = "<Delete xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Quiet>true</Quiet>";
  for (const std::string& key : keys) {
    absl::StrAppend(&xml, "<Object><Key>", XmlEscape(key), "</Key></Object>");
  }
  xml += "</Delete>";
  const S3Result result = client.Send({.method = "POST",
                                       .query = {{"delete", ""}},
                                       .headers = {{"content-md5", Base64(Md5(xml))}},
                                       .body = xml,
                                       .xml_answer = true});
  CAPSTAN_RETURN_IF_ERROR(result.response.status());
  CAPSTAN_ASSIGN_OR_RETURN(const XmlElement answer, ParseXml(result.response->body));
  // A proxy in front of the store may answer with a page of its own.
  if (answer.name != "DeleteResult") {
    return absl::DataLossError(
        absl::StrCat("an answer to a deletion begins with <", answer.name, ">"));
  }
  for (const XmlElement& child : answer.children) {
    if (child.name != "Error" || child.ChildText("Code") == "NoSuchKey") continue;
    const std::string code(child.ChildText("Code"));
    const std::string message =
        absl::StrCat(std::string(child.ChildText("Key")), ": not deleted: ", code);
    return code == "AccessDenied" ? absl::PermissionDeniedError(message)
                                  : absl::UnavailableError(message);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status DeleteS3Objects(S3Client& client, std::span<const std::string> full_keys) {
  if (full_keys.size() == 1) return DeleteOne(client, full_keys.front());
  while (!full_keys.empty()) {
    const size_t count = std::min(kMostAtOnce, full_keys.size());
    CAPSTAN_RETURN_IF_ERROR(DeleteBatch(client, full_keys.first(count)));
    full_keys = full_keys.subspan(count);
  }
  return absl::OkStatus();
}

}  // namespace capstan
