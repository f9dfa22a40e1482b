// Objects in a bucket of S3, or of a server that speaks its protocol.
//
// Conditional writes are S3's own (If-None-Match, If-Match). Every write carries a random id as
// metadata: where the answer to an attempt was lost and the next one is refused, the id tells
// whether what is stored there is our own write or a rival's.
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

// FAILED_PRECONDITION without credentials, or for an http:// endpoint that is not allowed. Requests
// are sent over libcurl. Thread-safe; so is a store's use from many threads at once.
absl::StatusOr<std::unique_ptr<ObjectStore>> OpenS3ObjectStore(const S3Location& location,
                                                               const S3Options& options);

// With another world, as tests have it.
absl::StatusOr<std::unique_ptr<ObjectStore>> OpenS3ObjectStore(const S3Location& location,
                                                               const S3Options& options,
                                                               const S3World& world);

// The header that carries the id of a write.
inline constexpr char kWriteIdHeader[] = "x-amz-meta-capstan-write";

// The object's version if it is the write with that id; ABORTED if it is not.
absl::StatusOr<ObjectVersion> FindWrite(S3Client& client, const std::string& full_key,
                                        const std::string& write_id);

// Streams to `full_key`: in one request if it turns out small, else as a multipart upload, which is
// aborted unless it is committed. `client` must outlive the result.
std::unique_ptr<ObjectWriter> NewS3Writer(S3Client& client, std::string full_key);

// Puts an object with one request. As ObjectStore::Write, `full_key` in place of the key.
absl::StatusOr<ObjectVersion> PutS3Object(S3Client& client, const std::string& full_key,
                                          std::string_view bytes, const WriteCondition& condition);

// As ObjectStore::Read, `full_key` in place of the key. Where a connection breaks within the
// answer, or it takes longer than a request may, the rest is asked for, of the same version: it
// fails only after attempts of which none has brought a byte.
absl::StatusOr<Object> ReadS3Object(S3Client& client, const std::string& full_key,
                                    const ReadRange& range);

// The answer to HEAD of an object. NOT_FOUND only if the store itself says so, which is asked by
// GET: to HEAD, whoever stands before the store answers 404 in the same way.
absl::StatusOr<HttpResponse> HeadS3Object(S3Client& client, const std::string& full_key);

// One answer to ListObjectsV2.
struct S3Listing {
  std::vector<ObjectInfo> objects;  // With full keys.
  std::string next;                 // Empty: there is no more.
};
absl::StatusOr<S3Listing> ReadS3Listing(const XmlElement& answer);

// The first `limit` objects behind `after`, with full keys. DATA_LOSS if the server sends pages in
// no order or a page twice.
absl::StatusOr<std::vector<ObjectInfo>> ListS3Objects(S3Client& client, const std::string& prefix,
                                                      const std::string& after, size_t limit);

// At most 1000 at once are asked for.
absl::Status DeleteS3Objects(S3Client& client, std::span<const std::string> full_keys);

}  // namespace capstan

#endif  // CAPSTAN_OBJECTSTORE_S3_S3_OBJECT_STORE_H_
