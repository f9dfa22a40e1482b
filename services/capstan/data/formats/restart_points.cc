#include "capstan/data/formats/restart_points.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

#include "capstan/base/status.h"

namespace capstan {
namespace {

// Reads `size` bytes, or fewer if the stream ends.
absl::StatusOr<std::string> Take(ByteStream& stream, size_t size) {
  std::string bytes(size, '\0');
  size_t taken = 0;
  while (taken < size) {
    CAPSTAN_ASSIGN_OR_RETURN(const size_t n, stream.Read(std::span(bytes).subspan(taken)));
    if (n == 0) break;
    taken += n;
  }
  bytes.resize(taken);
  return bytes;
}

absl::Status Skip(ByteStream& stream, uint64_t bytes) {
  std::vector<char> ignored(std::min<uint64_t>(bytes, 64 << 10));
  while (bytes > 0) {
    const size_t most = std::min<uint64_t>(bytes, ignored.size());
    CAPSTAN_ASSIGN_OR_RETURN(const size_t n, stream.Read(std::span(ignored).first(most)));
    if (n == 0) break;
    bytes -= n;
  }
  return absl::OkStatus();
}

std::unique_ptr<ByteStream> Decompressed(Compression compression, const std::string& path,
                                         std::unique_ptr<ByteStream> stored,
                                         const RestartPoint& from, RestartKeeper* keeper) {
  switch (compression) {
    case Compression::kGzip:
      return NewGzipStream(path, std::move(stored), from, keeper);
    case Compression::kZstd:
      return NewZstdStream(path, std::move(stored), from, keeper);
    case Compression::kNone:
      break;
  }
  return stored;
}

}  // namespace

absl::StatusOr<RestartPoints::Start> RestartPoints::Open(const Source& source,
                                                         const std::string& path, uint64_t record) {
  ForgetUnmarked();
  path_ = path;
  const Point* const nearest = Nearest(path, record);
  if (nearest == nullptr) return OpenFront(source, path);
  const RestartPoint& from = nearest->restart;
  CAPSTAN_ASSIGN_OR_RETURN(
      std::unique_ptr<ByteStream> stored,
      source.Open(path, from.stored - RestartPoint::kBefore, Source::kToTheEnd));
  CAPSTAN_ASSIGN_OR_RETURN(const std::string before, Take(*stored, RestartPoint::kBefore));
  if (before != from.before) {
    Forget(path);
    return OpenFront(source, path);
  }
  Start start = {
      .contents = Decompressed(files_[path].compression, path, std::move(stored), from, this),
      .record = nearest->record,
      .offset = nearest->offset};
  CAPSTAN_RETURN_IF_ERROR(Skip(*start.contents, start.offset - from.content));
  return start;
}

absl::StatusOr<RestartPoints::Start> RestartPoints::OpenFront(const Source& source,
                                                              const std::string& path) {
  CAPSTAN_ASSIGN_OR_RETURN(const Compression compression, DetectCompression(source, path));
  CAPSTAN_ASSIGN_OR_RETURN(std::unique_ptr<ByteStream> stored,
                           source.Open(path, 0, Source::kToTheEnd));
  files_[path].compression = compression;
  return Start{.contents = Decompressed(compression, path, std::move(stored), {}, this)};
}

const RestartPoints::Point* RestartPoints::Nearest(const std::string& path, uint64_t record) const {
  const auto file = files_.find(path);
  if (file == files_.end()) return nullptr;
  const Point* nearest = nullptr;
  for (const auto& [content, point] : file->second.points) {
    if (point.record != kNone && point.record <= record) nearest = &point;
  }
  return nearest;
}

bool RestartPoints::IsNearer(const std::string& path, uint64_t record, uint64_t offset) const {
  const Point* const nearest = Nearest(path, record);
  return nearest != nullptr && nearest->offset >= offset + limits_.distance;
}

bool RestartPoints::Wants(uint64_t content) const {
  if (content < limits_.distance) return false;
  const std::map<uint64_t, Point>& points = files_.at(path_).points;
  const auto next = points.lower_bound(content);
  if (next != points.end() && next->first - content < limits_.distance) return false;
  return next == points.begin() || content - std::prev(next)->first >= limits_.distance;
}

void RestartPoints::Keep(RestartPoint point) {
  const uint64_t content = point.content;
  files_.at(path_).points.emplace(content, Point{.restart = std::move(point)});
  unmarked_ = std::min(unmarked_, content);
  ++count_;
  while (count_ > limits_.points) ThinOut();
}

void RestartPoints::MarkPoints(uint64_t record, uint64_t offset) {
  std::map<uint64_t, Point>& points = files_.at(path_).points;
  auto point = points.lower_bound(unmarked_);
  for (; point != points.end() && point->first <= offset; ++point) {
    if (point->second.record != kNone) continue;
    point->second.record = record;
    point->second.offset = offset;
  }
  unmarked_ = kNone;
  for (; point != points.end() && unmarked_ == kNone; ++point) {
    if (point->second.record == kNone) unmarked_ = point->first;
  }
}

void RestartPoints::Forget(const std::string& path) {
  count_ -= files_.at(path).points.size();
  files_.erase(path);
}

// Drops points of the file that was opened last whose record is not known: its reader has not
// reached it.
void RestartPoints::ForgetUnmarked() {
  unmarked_ = kNone;
  const auto file = files_.find(path_);
  if (file == files_.end()) return;
  count_ -= std::erase_if(file->second.points,
                          [](const auto& point) { return point.second.record == kNone; });
  if (file->second.points.empty()) files_.erase(file);
}

void RestartPoints::ThinOut() {
  limits_.distance *= 2;
  count_ = 0;
  for (auto file = files_.begin(); file != files_.end();) {
    uint64_t last = 0;
    std::erase_if(file->second.points, [&](const auto& point) {
      const bool too_near = point.first - last < limits_.distance;
      if (!too_near) last = point.first;
      return too_near;
    });
    count_ += file->second.points.size();
    const bool useless = file->second.points.empty() && file->first != path_;
    file = useless ? files_.erase(file) : std::next(file);
  }
}

}  // namespace capstan
