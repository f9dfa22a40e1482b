#include "capstan/base/open_files.h"

#include <sys/resource.h>

#include <algorithm>
#include <limits>

namespace capstan {
namespace {

int64_t Bounded(rlim_t limit) {
  return static_cast<int64_t>(std::min<rlim_t>(limit, std::numeric_limits<int32_t>::max()));
}

}  // namespace

int64_t RaiseOpenFilesLimit() {
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < files.rlim_max) {
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
  }
  return OpenFilesLimit();
}

int64_t OpenFilesLimit() {
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  return Bounded(files.rlim_cur);
}

}  // namespace capstan
