#include "chief/shell/growing_file.h"

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <system_error>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "capstan/base/clock.h"
#include "capstan/base/log.h"
#include "capstan/base/status.h"

namespace capstan::chief {
namespace {

constexpr absl::Duration kWriteEvery = absl::Seconds(5);

// Returns the content of the file; empty if there is none.
absl::StatusOr<std::string> Contents(const std::filesystem::path& path) {
  const auto failed = [&path](int error) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot read ", path.string(), ": ", std::strerror(error)));
  };
  std::error_code error;
  const uintmax_t bytes = std::filesystem::file_size(path, error);
  if (error == std::errc::no_such_file_or_directory) return "";
  if (error) return failed(error.value());
  std::string text(bytes, '\0');
  std::ifstream file(path, std::ios::binary);
  if (!file.read(text.data(), static_cast<std::streamsize>(bytes))) return failed(errno);
  return text;
}

// Each Append is written to the file at once. A curve has a few hundred lines per order of
// magnitude of time, so what cannot be written because the disk is full takes little memory.
class AppendedFile : public GrowingFile {
 public:
  static absl::StatusOr<std::unique_ptr<GrowingFile>> Open(const std::filesystem::path& path,
                                                           bool anew, GoOnWith go_on) {
    CAPSTAN_ASSIGN_OR_RETURN(const std::string before, anew ? "" : Contents(path));
    const std::string begin = go_on(before);
    if (!before.empty() && begin != before) CAPSTAN_RETURN_IF_ERROR(Replace(path, begin));
    auto file = std::make_unique<AppendedFile>(path);
    const auto mode = before.empty() ? std::ios::trunc : std::ios::app;
    file->stream_.open(path, std::ios::binary | mode);
    if (before.empty()) file->unwritten_ = begin;
    if (file->stream_ && file->Write()) return file;
    return file->CannotWrite();
  }

  // Unbuffered, so that it is known exactly which bytes were written to the file.
  explicit AppendedFile(std::filesystem::path path) : path_(std::move(path)) {
    stream_.rdbuf()->pubsetbuf(nullptr, 0);
  }

  // What cannot be written now because the disk is full is written with the next text.
  void Append(const std::string& text) override {
    unwritten_ += text;
    const bool written = Write();
    if (!written && !failing_) {
      log::Warn("the learning curve cannot be written; what is missing follows when it can",
                {{"error", CannotWrite()}});
    }
    failing_ = !written;
  }

 private:
  // Writes what is not written yet. Returns false, and keeps the rest, if the file accepts no more.
  bool Write() {
    const auto size = static_cast<std::streamsize>(unwritten_.size());
    const std::streamsize written = stream_.rdbuf()->sputn(unwritten_.data(), size);
    unwritten_.erase(0, static_cast<size_t>(written));
    return written == size;
  }

  absl::Status CannotWrite() const {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot write ", path_.string(), ": ", std::strerror(errno)));
  }

  // Replaces the content of the file atomically.
  static absl::Status Replace(const std::filesystem::path& path, const std::string& text) {
    CAPSTAN_ASSIGN_OR_RETURN(const std::unique_ptr<ObjectStore> store,
                             OpenObjectStore(path.parent_path().string()));
    return store->Put(path.filename().string(), text);
  }

  const std::filesystem::path path_;
  std::ofstream stream_;
  std::string unwritten_;
  bool failing_ = false;  // The last Append could not write all.
};

// The content of the object. A curve has a few hundred lines per order of magnitude of time, so it
// is kept whole in memory. Thread-safe, but only one thread at a time may call Begin or Write.
class KeptObject {
 public:
  KeptObject(std::shared_ptr<ObjectStore> folder, std::string name, GoOnWith go_on)
      : folder_(std::move(folder)), name_(std::move(name)), go_on_(go_on) {}

  // Reads what the object contains already. If the store was unavailable, this is tried again
  // before the next write: content that was not read is never overwritten.
  void Begin(const absl::StatusOr<std::string>& before) {
    if (!before.ok() && !absl::IsNotFound(before.status())) {
      log::Warn("what there is of the learning curve cannot be read; it is written when it can",
                {{"object", name_}, {"error", before.status()}});
      return;
    }
    const std::string begin = go_on_(before.value_or(""));
    begun_ = true;
    absl::MutexLock lock(&mu_);
    text_.insert(0, begin);
  }

  // Returns true if it is time to write.
  bool Append(const std::string& text) {
    absl::MutexLock lock(&mu_);
    absl::StrAppend(&text_, text);
    const absl::Time now = SteadyClock().Now();
    if (now < next_write_) return false;
    next_write_ = now + kWriteEvery;
    return true;
  }

  void Write() {
    if (!begun_) Begin(folder_->Get(name_));
    if (!begun_) return;
    std::string text;
    {
      absl::MutexLock lock(&mu_);
      if (text_.size() == written_) return;
      text = text_;
    }
    const absl::Status status = folder_->Put(name_, text);
    if (!status.ok()) log::Warn("the learning curve cannot be written", {{"error", status}});
    absl::MutexLock lock(&mu_);
    if (status.ok()) written_ = text.size();
  }

 private:
  const std::shared_ptr<ObjectStore> folder_;
  const std::string name_;
  const GoOnWith go_on_;
  bool begun_ = false;  // Its initial content is known. Used by Begin and Write.
  absl::Mutex mu_;
  std::string text_ ABSL_GUARDED_BY(mu_);  // Before begun_: only what was appended.
  size_t written_ ABSL_GUARDED_BY(mu_) = 0;
  absl::Time next_write_ ABSL_GUARDED_BY(mu_) = absl::InfinitePast();
};

class GrowingObject : public GrowingFile {
 public:
  GrowingObject(std::shared_ptr<KeptObject> object, StoreThread& thread)
      : object_(std::move(object)), thread_(thread) {}
  // Has the thread write what is not written yet, unless too many jobs wait there.
  ~GrowingObject() override { PostWrite(); }

  void Append(const std::string& text) override {
    if (object_->Append(text)) PostWrite();
  }

 private:
  void PostWrite() {
    thread_.Post([object = object_] { object->Write(); });
  }

  const std::shared_ptr<KeptObject> object_;  // Shared with writes that wait for the thread.
  StoreThread& thread_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<GrowingFile>> OpenGrowingFile(const std::filesystem::path& path,
                                                             bool anew, GoOnWith go_on) {
  return AppendedFile::Open(path, anew, go_on);
}

std::unique_ptr<GrowingFile> NewGrowingObject(std::shared_ptr<ObjectStore> folder,
                                              const std::string& name, bool anew, GoOnWith go_on,
                                              StoreThread& thread) {
  auto object = std::make_shared<KeptObject>(folder, name, go_on);
  object->Begin(anew ? absl::NotFoundError("") : folder->Get(name));
  return std::make_unique<GrowingObject>(std::move(object), thread);
}

}  // namespace capstan::chief
