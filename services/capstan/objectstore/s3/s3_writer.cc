#include <algorithm>
#include <deque>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "capstan/base/background.h"
#include "capstan/base/status.h"
#include "capstan/objectstore/s3/digest.h"
#include "capstan/objectstore/s3/s3_object_store.h"
#include "capstan/objectstore/s3/xml.h"

namespace capstan {
namespace {

// S3 accepts at most 10000 parts of an object, so the size of parts doubles after each this many.
constexpr size_t kPartsOfOneSize = 1500;

struct Part {
  std::string tag;
  std::string checksum;
};

// A part that is being uploaded. `work` sets `result`, and must have ended before the result is
// read.
struct Upload {
  size_t number;  // From 1.
  std::string bytes;
  absl::StatusOr<Part> result = absl::UnknownError("under way");
  std::unique_ptr<Background::Work> work = {};
};

class S3Writer : public ObjectWriter {
 public:
  S3Writer(S3Client& client, std::string key) : client_(client), key_(std::move(key)) {
    // This thread allocates all buffers: many threads may append, and malloc would keep memory for
    // each of them.
    spare_.resize(client_.options().parts_at_once + 1);
    for (std::string& buffer : spare_) buffer.reserve(client_.options().part_bytes);
  }

  ~S3Writer() override {
    under_way_.clear();  // Waits until each has ended.
    if (upload_.empty() || committed_) return;
    // Tried only once: a lifecycle rule of the bucket has to remove what dead processes leave
    // behind anyway.
    client_.Send({.method = "DELETE", .key = key_, .query = {{"uploadId", upload_}}, .once = true});
  }

  absl::Status Append(std::string_view bytes) override {
    while (error_.ok() && !bytes.empty()) {
      if (buffer_.capacity() < PartBytes()) TakeBuffer();
      const uint64_t taken = std::min<uint64_t>(PartBytes() - buffer_.size(), bytes.size());
      buffer_.append(bytes.substr(0, taken));
      bytes.remove_prefix(taken);
      if (buffer_.size() == PartBytes()) error_ = BeginPart();
    }
    return error_;
  }

  absl::Status Commit() override {
    CAPSTAN_RETURN_IF_ERROR(error_);
    if (upload_.empty()) {
      error_ = PutS3Object(client_, key_, buffer_, {}).status();
      return error_;
    }
    if (!buffer_.empty()) error_ = BeginPart();
    if (error_.ok()) error_ = EndPartsButFor(0);
    if (error_.ok()) error_ = Complete();
    committed_ = error_.ok();
    return error_;
  }

 private:
  uint64_t PartBytes() const { return client_.options().part_bytes << (begun_ / kPartsOfOneSize); }

  void TakeBuffer();
  absl::Status Begin();
  // Begins to upload the buffered bytes in the background, once fewer than parts_at_once uploads
  // are under way.
  absl::Status BeginPart();
  // Waits for uploads, the oldest first, until at most `left` are under way. Returns the first
  // error.
  absl::Status EndPartsButFor(size_t left);
  absl::StatusOr<Part> Send(const Upload& upload) const;
  absl::Status Complete();
  std::string CompletionXml() const;

  S3Client& client_;
  const std::string key_;
  std::string write_id_;
  std::string upload_;  // Empty if nothing was sent yet.
  std::string buffer_;
  std::vector<std::string> spare_;  // Buffers that are not in use.
  size_t begun_ = 0;                // How many parts have been begun.
  std::deque<std::unique_ptr<Upload>> under_way_;
  std::vector<Part> parts_;  // The parts that have ended, in order.
  Threads threads_;
  absl::Status error_;  // The first error.
  bool committed_ = false;
};

void S3Writer::TakeBuffer() {
  if (buffer_.empty() && !spare_.empty()) {
    buffer_ = std::move(spare_.back());
    spare_.pop_back();
    buffer_.clear();
  }
  buffer_.reserve(PartBytes());
}

absl::Status S3Writer::Begin() {
  write_id_ = client_.NewWriteId();
  S3Call call{.method = "POST",
              .key = key_,
              .query = {{"uploads", ""}},
              .headers = {{kWriteIdHeader, write_id_}},
              .xml_answer = true};
  if (client_.options().checksums) call.headers.emplace_back("x-amz-checksum-algorithm", "CRC32C");
  const S3Result result = client_.Send(call);
  CAPSTAN_RETURN_IF_ERROR(result.response.status());
  CAPSTAN_ASSIGN_OR_RETURN(const XmlElement answer, ParseXml(result.response->body));
  upload_ = std::string(answer.ChildText("UploadId"));
  if (!upload_.empty()) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(key_, ": the answer names no upload"));
}

absl::Status S3Writer::BeginPart() {
  if (upload_.empty()) CAPSTAN_RETURN_IF_ERROR(Begin());
  under_way_.push_back(std::make_unique<Upload>(Upload{++begun_, std::exchange(buffer_, {})}));
  Upload& upload = *under_way_.back();
  upload.work = threads_.Begin([this, &upload] { upload.result = Send(upload); });
  // Takes another buffer, in which the next part is filled meanwhile.
  return EndPartsButFor(client_.options().parts_at_once - 1);
}

absl::Status S3Writer::EndPartsButFor(size_t left) {
  while (under_way_.size() > left) {
    Upload& oldest = *under_way_.front();
    oldest.work.reset();
    CAPSTAN_RETURN_IF_ERROR(oldest.result.status());
    parts_.push_back(*std::move(oldest.result));
    spare_.push_back(std::move(oldest.bytes));
    under_way_.pop_front();
  }
  return absl::OkStatus();
}

absl::StatusOr<Part> S3Writer::Send(const Upload& upload) const {
  Part part{.tag = "", .checksum = Crc32cText(upload.bytes)};
  S3Call call{.method = "PUT",
              .key = key_,
              .query = {{"partNumber", absl::StrCat(upload.number)}, {"uploadId", upload_}},
              .body = upload.bytes};
  if (client_.options().checksums)
    call.headers.emplace_back("x-amz-checksum-crc32c", part.checksum);
  const S3Result result = client_.Send(call);
  CAPSTAN_RETURN_IF_ERROR(result.response.status());
  const std::string_view stored = result.response->Header("x-amz-checksum-crc32c");
  part.tag = std::string(result.response->Header("etag"));
  if (!part.tag.empty() && (stored.empty() || stored == part.checksum)) return part;
  return absl::DataLossError(absl::StrCat(key_, ": the server has stored part ", upload.number,
                                          " otherwise than we sent it"));
}

std::string S3Writer::CompletionXml() const {
  std::string xml = "<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">";
  for (size_t i = 0; i < parts_.size(); ++i) {
    absl::StrAppend(&xml, "<Part><PartNumber>", i + 1, "</PartNumber><ETag>",
                    XmlEscape(parts_[i].tag), "</ETag>");
    if (client_.options().checksums) {
      absl::StrAppend(&xml, "<ChecksumCRC32C>", parts_[i].checksum, "</ChecksumCRC32C>");
    }
    absl::StrAppend(&xml, "</Part>");
  }
  return xml + "</CompleteMultipartUpload>";
}

absl::Status S3Writer::Complete() {
  const std::string xml = CompletionXml();
  const S3Result result = client_.Send({.method = "POST",
                                        .key = key_,
                                        .query = {{"uploadId", upload_}},
                                        .body = xml,
                                        .xml_answer = true});
  if (result.response.ok()) {
    CAPSTAN_ASSIGN_OR_RETURN(const XmlElement answer, ParseXml(result.response->body));
    if (answer.name == "CompleteMultipartUploadResult") return absl::OkStatus();
    return absl::DataLossError(absl::StrCat(key_, ": the answer to the completion is none"));
  }
  // The upload does not exist any more: perhaps an attempt whose response was lost has completed
  // it.
  const absl::Status status = result.response.status();
  if (!result.repeated || !absl::IsNotFound(status)) return status;
  return FindWrite(client_, key_, write_id_).ok() ? absl::OkStatus() : status;
}

}  // namespace

std::unique_ptr<ObjectWriter> NewS3Writer(S3Client& client, std::string full_key) {
  return std::make_unique<S3Writer>(client, std::move(full_key));
}

}  // namespace capstan
