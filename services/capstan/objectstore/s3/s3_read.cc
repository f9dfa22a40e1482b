#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "capstan/base/absl_view.h"
#include "capstan/base/status.h"
#include "capstan/objectstore/s3/digest.h"
#include "capstan/objectstore/s3/s3_object_store.h"

namespace capstan {
namespace {

// The largest read, which is in memory as a whole.
constexpr uint64_t kMostBytes = uint64_t{16} << 30;
constexpr uint64_t kMostErrorBytes = uint64_t{1} << 20;
// How often a read is restarted because the object was replaced meanwhile.
constexpr int kMostVersions = 3;

// The content of a header such as "Content-Range: bytes 0-9/443".
struct ContentRange {
  uint64_t first = 0;
  uint64_t last = 0;
  uint64_t size = 0;
};
bool ParseContentRange(std::string_view text, ContentRange* range) {
  if (!text.starts_with("bytes ")) return false;
  text.remove_prefix(6);
  const std::vector<absl::string_view> parts =
      absl::StrSplit(AbslView(text), absl::ByAnyChar("-/"));
  return parts.size() == 3 && absl::SimpleAtoi(parts[0], &range->first) &&
         absl::SimpleAtoi(parts[1], &range->last) && absl::SimpleAtoi(parts[2], &range->size) &&
         range->last >= range->first && range->last < range->size;
}

// One read of one version of an object, in as many requests as needed. Thread-compatible.
class S3Read {
 public:
  S3Read(S3Client& client, const std::string& key, const ReadRange& range)
      : client_(client), key_(key), range_(range), version_(range.version) {}

  absl::StatusOr<Object> Run();
  // Returns true if something has arrived, and the caller did not request a certain version.
  bool begun() const { return !bytes_.empty() && range_.version.token.empty(); }

 private:
  bool whole() const { return range_.offset == 0 && range_.length == ReadRange::kToTheEnd; }
  // A range of this length is requested without its end, because servers do not support such
  // numbers.
  bool to_the_end() const { return range_.length > kMostBytes; }
  S3Call NextCall() const;
  // Keeps the content of the response. `complete`: all of the response has arrived.
  absl::Status Take(HttpResponse& response, bool complete);
  absl::Status TakeFirst(const HttpResponse& response);
  absl::Status TakePiece(const HttpResponse& response, bool complete);
  absl::Status CheckWhole() const;
  absl::Status Wrong() const {
    return absl::DataLossError(absl::StrCat(key_, ": not the bytes that were asked for"));
  }

  S3Client& client_;
  const std::string& key_;
  const ReadRange& range_;
  ObjectVersion version_;
  std::string bytes_;
  uint64_t size_ = 0;     // The size of the object, once a response has told it.
  std::string checksum_;  // The checksum of the whole object, if a response has told it.
};

S3Call S3Read::NextCall() const {
  S3Call call{.method = "GET", .key = key_, .keeps_partial = true};
  const uint64_t come = bytes_.size();
  call.most_body = std::max(kMostErrorBytes, (to_the_end() ? kMostBytes : range_.length) - come);
  if (whole() && come == 0) {
    call.headers.emplace_back("x-amz-checksum-mode", "ENABLED");
  } else {
    const std::string last = to_the_end() ? "" : absl::StrCat(range_.offset + range_.length - 1);
    call.headers.emplace_back("range", absl::StrCat("bytes=", range_.offset + come, "-", last));
  }
  if (!version_.token.empty()) call.headers.emplace_back("if-match", version_.token);
  return call;
}

absl::Status S3Read::TakeFirst(const HttpResponse& response) {
  if (response.status != 200) return Wrong();
  const std::string_view checksum = response.Header("x-amz-checksum-crc32c");
  // With "-" it is a checksum of the checksums of a multipart upload's parts, not of these bytes.
  const bool of_all = checksum.find('-') == std::string_view::npos &&
                      response.Header("x-amz-checksum-type") != "COMPOSITE";
  if (of_all) checksum_ = std::string(checksum);
  return absl::OkStatus();
}

absl::Status S3Read::TakePiece(const HttpResponse& response, bool complete) {
  ContentRange got;
  if (response.status != 206 || !ParseContentRange(response.Header("content-range"), &got) ||
      got.first != range_.offset + bytes_.size()) {
    return Wrong();
  }
  const uint64_t announced = got.last - got.first + 1;
  const uint64_t come = response.body.size();
  if (complete ? come != announced : come > announced) return Wrong();
  CAPSTAN_ASSIGN_OR_RETURN(const uint64_t length, LengthWithin(range_, got.size));
  size_ = got.size;
  if (bytes_.size() + announced == length) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat(key_, ": ", bytes_.size() + announced, " bytes in place of ", length));
}

absl::Status S3Read::Take(HttpResponse& response, bool complete) {
  const bool first = whole() && bytes_.empty();
  CAPSTAN_RETURN_IF_ERROR(first ? TakeFirst(response) : TakePiece(response, complete));
  version_.token = std::string(response.Header("etag"));
  if (bytes_.empty()) {
    bytes_ = std::move(response.body);
  } else {
    bytes_ += response.body;
  }
  if (complete && first) size_ = bytes_.size();
  return absl::OkStatus();
}

absl::Status S3Read::CheckWhole() const {
  if (!whole() || checksum_.empty() || checksum_ == Crc32cText(bytes_)) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(key_, ": bytes with another checksum than were stored"));
}

absl::StatusOr<Object> S3Read::Run() {
  for (;;) {
    S3Result result = client_.Send(NextCall());
    const bool complete = result.response.ok();
    if (!complete && result.partial.body.empty()) return result.response.status();
    CAPSTAN_RETURN_IF_ERROR(Take(complete ? *result.response : result.partial, complete));
    if (!complete) continue;
    CAPSTAN_RETURN_IF_ERROR(CheckWhole());
    return Object{std::move(bytes_), std::move(version_), size_};
  }
}

// Reads no bytes, which HTTP ranges cannot express.
absl::StatusOr<Object> ReadNothing(S3Client& client, const std::string& key,
                                   const ReadRange& range) {
  CAPSTAN_ASSIGN_OR_RETURN(const HttpResponse answer, HeadS3Object(client, key));
  ObjectVersion version{std::string(answer.Header("etag"))};
  if (!range.version.token.empty() && version != range.version) {
    return absl::AbortedError(absl::StrCat(key, ": another version is stored"));
  }
  uint64_t size = 0;
  if (!absl::SimpleAtoi(AbslView(answer.Header("content-length")), &size)) {
    return absl::DataLossError(absl::StrCat(key, ": the answer has no length"));
  }
  CAPSTAN_ASSIGN_OR_RETURN(const uint64_t length, LengthWithin(range, size));
  if (length == 0) return Object{"", std::move(version), size};
  return absl::AbortedError(absl::StrCat(key, ": has changed while it was read"));
}

}  // namespace

absl::StatusOr<HttpResponse> HeadS3Object(S3Client& client, const std::string& full_key) {
  const S3Call head{.method = "HEAD", .key = full_key};
  absl::StatusOr<HttpResponse> answer = client.Send(head).response;
  if (!absl::IsNotFound(answer.status())) return answer;
  const absl::Status why =
      client.Send({.method = "GET", .key = full_key, .headers = {{"range", "bytes=0-0"}}})
          .response.status();
  if (!why.ok() && !absl::IsOutOfRange(why)) return why;
  return client.Send(head).response;  // It was written just then; or it has no bytes.
}

absl::StatusOr<Object> ReadS3Object(S3Client& client, const std::string& full_key,
                                    const ReadRange& range) {
  if (range.length == 0) return ReadNothing(client, full_key, range);
  for (int version = 1;; ++version) {
    S3Read read(client, full_key, range);
    absl::StatusOr<Object> object = read.Run();
    if (absl::IsOutOfRange(object.status()) && !read.begun()) {
      return ReadNothing(client, full_key, range);
    }
    // If the object was replaced between two pieces, the caller wants its present content.
    const bool replaced = absl::IsAborted(object.status()) && read.begun();
    if (!replaced || version == kMostVersions) return object;
  }
}

}  // namespace capstan
