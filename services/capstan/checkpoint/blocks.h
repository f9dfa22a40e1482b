// The framing of a partition file: a magic number, then blocks with checksums. See FORMAT.md.
#ifndef CAPSTAN_CHECKPOINT_BLOCKS_H_
#define CAPSTAN_CHECKPOINT_BLOCKS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace capstan {

enum class BlockKind : uint32_t {
  kHeader = 1,
  kMachine = 2,
  kTableHeader = 3,
  kRows = 4,
  kCandidates = 5,
  kDense = 6,
  kErased = 7,
  kEnd = 255,
};

// Thread-compatible.
class BlockWriter {
 public:
  BlockWriter();

  // Begins a block; its payload is appended to bytes() until Finish.
  void Begin(BlockKind kind);
  std::string& bytes() { return bytes_; }
  size_t payload_size() const;
  void Finish();

  // How many bytes of finished blocks were not taken yet; 0 while a block is being written.
  size_t finished() const { return open_ ? 0 : bytes_.size(); }
  // REQUIRES: no block is being written.
  std::string TakeFinished();

  // Writes the end block, and returns all bytes that were not taken yet. The writer must not be
  // used any more.
  std::string TakeFile() &&;

 private:
  std::string bytes_;
  size_t begin_ = 0;   // Where the block that is being written begins.
  bool open_ = false;  // A block is being written.
  uint32_t ordinal_ = 0;
};

struct BlockView {
  BlockKind kind{};
  std::string_view payload;
};

// A stored file that is read piece by piece, from front to end.
struct ByteFeed {
  // Returns the next piece; an empty one at the end.
  std::function<absl::StatusOr<std::string>()> next;
  uint64_t bytes = 0;  // The total size of all pieces, as recorded when the file was stored.
};

// Returns the blocks one after another, each verified. With a feed, only a block and a piece are in
// memory. Thread-compatible.
class BlockReader {
 public:
  // DATA_LOSS: the file does not begin like a partition file. FAILED_PRECONDITION: its format is
  // newer. Errors of the feed are passed on.
  static absl::StatusOr<BlockReader> Open(std::string_view file);
  static absl::StatusOr<BlockReader> Open(ByteFeed feed);

  // Returns the next block; its payload is valid until the next call. DATA_LOSS, with the place:
  // the block is damaged, missing or out of order. Verifies that the end block is the last; must
  // not be called after that.
  absl::StatusOr<BlockView> Next();

 private:
  BlockReader(std::string_view file, ByteFeed feed);
  // Makes sure that rest_ has at least `count` bytes, or all that remain.
  absl::Status Need(size_t count);
  absl::Status CheckStart();
  absl::Status CheckEnd(std::string_view payload) const;

  ByteFeed feed_;
  std::unique_ptr<std::string> held_;  // With a feed: the bytes of which rest_ is a part.
  std::string_view rest_;              // The bytes in memory that were not read yet.
  uint64_t unread_;                    // How many bytes of the whole file were not read yet.
  uint64_t file_size_;
  uint32_t ordinal_ = 0;
};

}  // namespace capstan

#endif  // CAPSTAN_CHECKPOINT_BLOCKS_H_
