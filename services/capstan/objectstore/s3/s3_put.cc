#include <utility>

#include "absl/strings/str_cat.h"
#include "capstan/base/status.h"
#include "capstan/objectstore/s3/digest.h"
#include "capstan/objectstore/s3/s3_object_store.h"

namespace capstan {
namespace {

// Returns what a refusal means for the caller. S3 has one code for both conditions, and another if
// there is no object to match.
absl::Status ConditionStatus(const WriteCondition& condition, const absl::Status& status) {
  const bool absent = condition.kind == WriteCondition::Kind::kAbsent && absl::IsAborted(status);
  const bool gone = condition.kind == WriteCondition::Kind::kMatches && absl::IsNotFound(status);
  if (absent) return absl::AlreadyExistsError(status.message());
  if (gone) return absl::AbortedError(status.message());
  return status;
}

bool Refused(const absl::Status& status) {
  return absl::IsAlreadyExists(status) || absl::IsAborted(status);
}

absl::StatusOr<ObjectVersion> ReadPutAnswer(const HttpResponse& response, const std::string& key,
                                            const std::string& checksum) {
  const std::string_view stored = response.Header("x-amz-checksum-crc32c");
  if (!stored.empty() && stored != checksum) {
    return absl::DataLossError(
        absl::StrCat(key, ": the server has stored other bytes than we sent"));
  }
  const std::string_view tag = response.Header("etag");
  if (tag.empty()) return absl::DataLossError(absl::StrCat(key, ": the answer has no ETag"));
  return ObjectVersion{std::string(tag)};
}

}  // namespace

absl::StatusOr<ObjectVersion> FindWrite(S3Client& client, const std::string& full_key,
                                        const std::string& write_id) {
  CAPSTAN_ASSIGN_OR_RETURN(const HttpResponse answer, HeadS3Object(client, full_key));
  if (answer.Header(kWriteIdHeader) == write_id) {
    return ObjectVersion{std::string(answer.Header("etag"))};
  }
  return absl::AbortedError(absl::StrCat(full_key, ": another write stands there"));
}

absl::StatusOr<ObjectVersion> PutS3Object(S3Client& client, const std::string& full_key,
                                          std::string_view bytes, const WriteCondition& condition) {
  const std::string write_id = client.NewWriteId();
  const std::string checksum = Crc32cText(bytes);
  S3Call call{
      .method = "PUT", .key = full_key, .headers = {{kWriteIdHeader, write_id}}, .body = bytes};
  if (client.options().checksums) call.headers.emplace_back("x-amz-checksum-crc32c", checksum);
  if (condition.kind == WriteCondition::Kind::kAbsent) {
    call.headers.emplace_back("if-none-match", "*");
  } else if (condition.kind == WriteCondition::Kind::kMatches) {
    call.headers.emplace_back("if-match", condition.version.token);
  }
  const S3Result result = client.Send(call);
  if (result.response.ok()) return ReadPutAnswer(*result.response, full_key, checksum);

  const absl::Status status = ConditionStatus(condition, result.response.status());
  if (!result.repeated || !Refused(status)) return status;
  absl::StatusOr<ObjectVersion> ours = FindWrite(client, full_key, write_id);
  // If nothing is stored there, or another's write, the refusal is right. If that cannot be found
  // out, the error says so.
  if (absl::IsAborted(ours.status()) || absl::IsNotFound(ours.status())) return status;
  return ours;
}

}  // namespace capstan
