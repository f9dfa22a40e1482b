#include "tests/lib/test_folder.h"

#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "capstan/base/check.h"

namespace capstan {

TestFolder::TestFolder() {
  path_ = (std::filesystem::temp_directory_path() / "capstan-test-XXXXXX").string();
  CAPSTAN_CHECK(::mkdtemp(path_.data()) != nullptr);
}

TestFolder::~TestFolder() { std::filesystem::remove_all(path_); }

std::string TestFolder::Path(std::string_view name) const {
  return path_ + "/" + std::string(name);
}

std::string TestFolder::Write(std::string_view name, std::string_view content) const {
  std::string path = Path(name);
  std::ofstream(path) << content;
  return path;
}

}  // namespace capstan
