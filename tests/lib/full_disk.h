// Lets a test write to a full disk.
#ifndef CAPSTAN_TESTS_LIB_FULL_DISK_H_
#define CAPSTAN_TESTS_LIB_FULL_DISK_H_

#include <sys/resource.h>

#include <csignal>

namespace capstan {

// While this object exists, no file of this process can grow beyond a number of bytes, as on a full
// disk.
class FullDisk {
 public:
  explicit FullDisk(rlim_t bytes) {
    std::signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit small{.rlim_cur = bytes, .rlim_max = before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);
  }
  ~FullDisk() { setrlimit(RLIMIT_FSIZE, &before_); }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

 private:
  rlimit before_{};
};

}  // namespace capstan

#endif  // CAPSTAN_TESTS_LIB_FULL_DISK_H_
