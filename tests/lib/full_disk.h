// Lets a test write on a disk that is full.
#ifndef CAPSTAN_TESTS_LIB_FULL_DISK_H_
#define CAPSTAN_TESTS_LIB_FULL_DISK_H_

#include <sys/resource.h>

#include <csignal>

namespace capstan {

// While it lives, no file of this process grows beyond so many bytes: a disk that is full.
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
