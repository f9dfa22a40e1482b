#include "chief/shell/job_watch.h"

#include <fstream>
#include <iterator>
#include <utility>

#include "chief/shell/job_difference.h"

namespace capstan::chief {

std::optional<std::string> ContentOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

JobWatch::JobWatch(std::string path, Read read, v1::JobSpec running, std::string data_note)
    : path_(std::move(path)),
      read_(std::move(read)),
      running_(std::move(running)),
      data_note_(std::move(data_note)) {}

std::optional<std::string> JobWatch::Look() {
  std::optional<std::string> content = ContentOf(path_);
  if (!content || content == seen_) return std::nullopt;
  const absl::StatusOr<v1::JobSpec> wanted = read_();
  // The store of the data is unavailable, which says nothing about the file.
  if (absl::IsUnavailable(wanted.status()) || absl::IsDeadlineExceeded(wanted.status())) {
    return std::nullopt;
  }
  seen_ = std::move(content);
  return JobChange(running_, wanted) + data_note_;
}

}  // namespace capstan::chief
