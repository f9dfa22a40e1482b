// A folder for the files of one test.
#ifndef TESTS_LIB_TEST_FOLDER_H_
#define TESTS_LIB_TEST_FOLDER_H_

#include <string>
#include <string_view>

namespace capstan {

// A new, empty folder with a name that no other process or object has, so that tests may run beside
// each other, also those of one file. The folder goes with the object. Every test target links it;
// tests/lib/check_sources refuses a test that makes up a path of its own.
class TestFolder {
 public:
  TestFolder();
  ~TestFolder();
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;

  const std::string& path() const { return path_; }
  // Where a file or folder of that name would be.
  std::string Path(std::string_view name) const;

  // Writes a file anew and returns its path.
  std::string Write(std::string_view name, std::string_view content) const;

 private:
  std::string path_;
};

}  // namespace capstan

#endif  // TESTS_LIB_TEST_FOLDER_H_
