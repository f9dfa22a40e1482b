#include "capstan/objectstore/range_reader.h"

#include <algorithm>
#include <utility>

#include "capstan/base/status.h"

namespace capstan {

RangeReader::RangeReader(ObjectStore& store, std::string key, uint64_t begin, uint64_t length,
                         const RangeReaderOptions& options)
    : store_(store), key_(std::move(key)), options_(options), at_(begin), end_(begin + length) {}

ReadRange RangeReader::TakeRange() {
  const ReadRange range{
      .offset = at_, .length = std::min(options_.piece_bytes, end_ - at_), .version = version_};
  at_ += range.length;
  return range;
}

void RangeReader::BeginPieces() {
  while (at_ < end_ && under_way_.size() < options_.at_once) {
    under_way_.push_back(std::make_unique<Piece>(Piece{.range = TakeRange()}));
    Piece& piece = *under_way_.back();
    piece.work = threads_.Begin([this, &piece] { piece.object = store_.Read(key_, piece.range); });
  }
}

absl::StatusOr<std::string> RangeReader::Next() {
  absl::StatusOr<Object> object = Object{};
  if (!under_way_.empty()) {
    under_way_.front()->work.reset();  // Waits for the end of the work.
    object = std::move(under_way_.front()->object);
    under_way_.pop_front();
  } else if (at_ < end_) {
    // The first piece determines which version the others must have.
    object = store_.Read(key_, TakeRange());
  } else {
    return std::string();
  }
  CAPSTAN_RETURN_IF_ERROR(object.status());
  version_ = std::move(object->version);
  object_bytes_ = object->size;
  BeginPieces();
  return std::move(object->bytes);
}

}  // namespace capstan
