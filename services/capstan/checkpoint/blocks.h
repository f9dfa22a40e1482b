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

  // Bytes of the blocks that are finished and not taken; 0 while one is being written.
  size_t finished() const { return open_ ? 0 : bytes_.size(); }
  // REQUIRES: no block is being written.
  std::string TakeFinished();

  // Writes the end block, and takes all that has not been taken. The writer is of no further use.
  std::string TakeFile() &&;

 private:
  std::string bytes_;
  size_t begin_ = 0;   // Where the block being written begins,
  bool open_ = false;  // if there is one.
  uint32_t ordinal_ = 0;
};

struct BlockView {
  BlockKind kind{};
  std::string_view payload;
};

// Bytes on their way from where they are stored, front to end.
struct ByteFeed {
  // The next piece; empty: there is no more.
  std::function<absl::StatusOr<std::string>()> next;
  uint64_t bytes = 0;  // The bytes of all pieces, as whoever stored them says.
};

// Gives the blocks one after another, each verified. Of a feed, a block and a piece are in memory.
// Thread-compatible.
class BlockReader {
 public:
  // DATA_LOSS if the file does not begin as one of ours, FAILED_PRECONDITION if its format is
  // newer. Of a feed, its errors, too.
  static absl::StatusOr<BlockReader> Open(std::string_view file);
  static absl::StatusOr<BlockReader> Open(ByteFeed feed);

  // The payload is there until the next call. DATA_LOSS, with the place, if the block is damaged,
  // missing or out of order. After the end block, which has been checked to be the last, there is
  // no next one.
  absl::StatusOr<BlockView> Next();

 private:
  BlockReader(std::string_view file, ByteFeed feed);
  // Has `count` bytes in rest_, or as many as there are.
  absl::Status Need(size_t count);
  absl::Status CheckStart();
  absl::Status CheckEnd(std::string_view payload) const;

  ByteFeed feed_;
  std::unique_ptr<std::string> held_;  // What rest_ is a part of, while the blocks are fed.
  std::string_view rest_;              // In memory, and not read yet.
  uint64_t unread_;                    // That of the whole file are not read yet.
  uint64_t file_size_;
  uint32_t ordinal_ = 0;
};

}  // namespace capstan

#endif  // CAPSTAN_CHECKPOINT_BLOCKS_H_
