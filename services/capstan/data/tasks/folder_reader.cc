#include "capstan/data/tasks/folder_reader.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "capstan/base/status.h"
#include "capstan/data/formats/byte_reader.h"
#include "capstan/data/formats/class_folders.h"

namespace capstan {
namespace {

constexpr size_t kMostListed = 64;  // Folders whose lists of images are kept.

}  // namespace

FolderReader::FolderReader(const Source& source, ImageIntake& intake)
    : source_(source), intake_(intake) {}

absl::StatusOr<const std::vector<std::string>*> FolderReader::List(const std::string& folder) {
  const auto found = listed_.find(folder);
  if (found != listed_.end()) return &found->second;
  CAPSTAN_ASSIGN_OR_RETURN(std::vector<std::string> paths, ListImages(source_, folder));
  if (listed_.size() == kMostListed) listed_.clear();
  return &(listed_[folder] = std::move(paths));
}

absl::Status FolderReader::Read(const v1::Task& range, Batch& records, TaskImages& images) {
  CAPSTAN_ASSIGN_OR_RETURN(const std::vector<std::string>* const paths, List(range.file()));
  const bool changed = range.file_records() > 0 && paths->size() != range.file_records();
  if (changed || paths->size() < range.end()) {
    return absl::DataLossError(absl::StrCat(
        range.file(), ": holds ", paths->size(), " images, and there were ",
        std::max(range.file_records(), range.end()),
        " when the job was planned; a folder must stay as it is while a job trains on it"));
  }
  for (uint64_t place = range.begin(); place < range.end(); ++place) {
    sample_ = {.label = std::string(ClassOf(range.file())), .has_label = true};
    CAPSTAN_RETURN_IF_ERROR(ReadFile((*paths)[place]));
    CAPSTAN_RETURN_IF_ERROR(intake_.Take((*paths)[place], sample_, records, images));
  }
  return absl::OkStatus();
}

absl::Status FolderReader::ReadFile(const std::string& path) {
  CAPSTAN_ASSIGN_OR_RETURN(std::unique_ptr<ByteStream> stream,
                           source_.Open(path, 0, Source::kToTheEnd));
  ByteReader bytes(std::move(stream), 0);
  CAPSTAN_ASSIGN_OR_RETURN(const bool too_large, bytes.Read(kMostImageBytes + 1, sample_.image));
  if (too_large) {
    sample_.error = absl::StrCat("is of more than ", kMostImageBytes, " bytes");
  } else if (sample_.image.empty()) {
    sample_.error = "is empty";
  }
  return absl::OkStatus();
}

}  // namespace capstan
