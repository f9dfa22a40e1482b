// A folder for the files of one test.
#ifndef TESTS_LIB_TEST_FOLDER_H_
#define TESTS_LIB_TEST_FOLDER_H_

#include <string>
#include <string_view>

namespace capstan {

// Creates a new, empty folder with a name that no other process or object uses, so that tests, also
// those of one file, can run beside each other. The destructor deletes the folder. Every test
// target links this file; tests/lib/check_sources refuses tests that make up paths of their own.
class TestFolder {
 public:
  TestFolder();
  ~TestFolder();
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;

  const std::string& path() const { return path_; }
  // Returns the path of a file or folder of this name, which need not exist.
  std::string Path(std::string_view name) const;

  // Writes a file, replacing an existing one, and returns its path.
  std::string Write(std::string_view name, std::string_view content) const;

 private:
  std::string path_;
};

}  // namespace capstan

#endif  // TESTS_LIB_TEST_FOLDER_H_
