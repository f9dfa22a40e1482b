// The trace of this process, for tests of what is written into it.
#ifndef CAPSTAN_TESTS_UNIT_PS_PARTITION_TRACE_FILE_H_
#define CAPSTAN_TESTS_UNIT_PS_PARTITION_TRACE_FILE_H_

#include <gtest/gtest.h>

#include <cstddef>
#include <fstream>
#include <string>
#include <vector>

#include "capstan/base/trace.h"
#include "tests/lib/test_folder.h"

namespace capstan::ps {

class TraceFile {
 public:
  TraceFile() { EXPECT_TRUE(trace::Open(path_, "ps-0").ok()); }

  // The events that were written since the last call, without times and names.
  std::vector<std::string> News() {
    std::ifstream file(path_);
    std::vector<std::string> news;
    size_t lines = 0;
    for (std::string line; std::getline(file, line);) {
      if (lines++ >= seen_) news.push_back(line.substr(line.find("\"event\"")));
    }
    seen_ = lines;
    return news;
  }

 private:
  const TestFolder folder_;
  const std::string path_ = folder_.Path("ps.trace");
  size_t seen_ = 0;
};

}  // namespace capstan::ps

#endif  // CAPSTAN_TESTS_UNIT_PS_PARTITION_TRACE_FILE_H_
