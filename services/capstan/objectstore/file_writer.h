// Writes a temporary file, which becomes the object when it is committed.
#ifndef CAPSTAN_OBJECTSTORE_FILE_WRITER_H_
#define CAPSTAN_OBJECTSTORE_FILE_WRITER_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "capstan/objectstore/files.h"
#include "capstan/objectstore/object_store.h"
#include "capstan/objectstore/piece_writer.h"

namespace capstan {

// Where an object of a file store is: an open folder, and a file name in it.
struct FilePlace {
  FileDescriptor root;
  FileDescriptor folder;
  std::string name;
  std::string key;           // For messages.
  absl::Duration lock_wait;  // The longest wait for the lock.
};

// Thread-compatible.
class FileWriter : public ObjectWriter {
 public:
  // NOT_FOUND: the folder was removed or cleaned up meanwhile; try again.
  static absl::StatusOr<std::unique_ptr<FileWriter>> Open(FilePlace place);
  ~FileWriter() override;

  absl::Status Append(std::string_view bytes) override;
  absl::Status Commit() override { return Publish({}).status(); }

  // Commits as ObjectStore::Write does, and returns the object's version.
  absl::StatusOr<ObjectVersion> Publish(const WriteCondition& condition);

 private:
  explicit FileWriter(FilePlace place) : place_(std::move(place)) {}

  absl::Status Give(const WriteCondition& condition);
  absl::Status Rename();
  absl::Status LinkUnlessPresent();
  absl::Status RenameIfMatches(const ObjectVersion& version);

  const FilePlace place_;
  std::string temporary_;
  FileDescriptor file_;  // Invalid once published.
  PieceWriter pieces_{file_, place_.key};
};

// Removes the temporary files in `folder` whose writers are dead.
void RemoveAbandonedFiles(const FileDescriptor& folder);

}  // namespace capstan

#endif  // CAPSTAN_OBJECTSTORE_FILE_WRITER_H_
