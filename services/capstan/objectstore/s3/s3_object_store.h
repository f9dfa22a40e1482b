// Objects in a bucket of S3, or of a server with the same protocol.
//
// Conditional writes are S3's own (If-None-Match, If-Match). Every write carries a random id as
// metadata. If the response to an attempt is lost and the next attempt is refused, the id tells
// whether the stored object is this writer's own or another's.
#ifndef CAPSTAN_OBJECTSTORE_S3_S3_OBJECT_STORE_H_
#define CAPSTAN_OBJECTSTORE_S3_S3_OBJECT_STORE_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "capstan/objectstore/object_store.h"
#include "capstan/objectstore/s3/s3_client.h"
#include "capstan/objectstore/s3/xml.h"

namespace capstan {

// Returns a store over libcurl. FAILED_PRECONDITION: there are no credentials, or the endpoint is
// http:// and that is not allowed. The function and the store are thread-safe.
absl::StatusOr<std::unique_ptr<ObjectStore>> OpenS3ObjectStore(const S3Location& location,
                                                               const S3Options& options);

// The same with another S3World, for tests.
absl::StatusOr<std::unique_ptr<ObjectStore>> OpenS3ObjectStore(const S3Location& location,
                                                               const S3Options& options,
                                                               const S3World& world);

// The header that carries the id of a write.
inline constexpr char kWriteIdHeader[] = "x-amz-meta-capstan-write";

// Returns the object's version if it was written with this id. ABORTED: it was not.
absl::StatusOr<ObjectVersion> FindWrite(S3Client& client, const std::string& full_key,
                                        const std::string& write_id);

// Returns a writer that streams to `full_key`: in one request if the object is small, otherwise as
// a multipart upload, which is aborted unless it is committed. `client` must outlive the result.
std::unique_ptr<ObjectWriter> NewS3Writer(S3Client& client, std::string full_key);

// Puts an object with one request, like ObjectStore::Write, but with the full key in the bucket.
absl::StatusOr<ObjectVersion> PutS3Object(S3Client& client, const std::string& full_key,
                                          std::string_view bytes, const WriteCondition& condition);

// Like ObjectStore::Read, but with the full key in the bucket. If the connection breaks during the
// response, or the response takes longer than a request may, the rest of the same version is
// requested. The read fails only after a series of attempts without any byte.
absl::StatusOr<Object> ReadS3Object(S3Client& client, const std::string& full_key,
                                    const ReadRange& range);

// Returns the response to HEAD of an object. NOT_FOUND only if the store itself says so, which is
// verified by a GET: a proxy in front of the store also answers HEAD with 404.
absl::StatusOr<HttpResponse> HeadS3Object(S3Client& client, const std::string& full_key);

// The content of one response to ListObjectsV2.
struct S3Listing {
  std::vector<ObjectInfo> objects;  // With full keys.
  std::string next;                 // The continuation token; empty if there are no more.
};
absl::StatusOr<S3Listing> ReadS3Listing(const XmlElement& answer);

// Returns the first `limit` objects after `after`, with full keys. DATA_LOSS: the server sends
// pages out of order, or a page twice.
absl::StatusOr<std::vector<ObjectInfo>> ListS3Objects(S3Client& client, const std::string& prefix,
                                                      const std::string& after, size_t limit);

// Deletes at most 1000 objects with one request.
absl::Status DeleteS3Objects(S3Client& client, std::span<const std::string> full_keys);

}  // namespace capstan

#endif  // CAPSTAN_OBJECTSTORE_S3_S3_OBJECT_STORE_H_
