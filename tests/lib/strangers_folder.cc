#include "tests/lib/strangers_folder.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace capstan {
namespace {

const std::map<std::string, std::string>& Things() {
  static const auto* const things = new std::map<std::string, std::string>{
      {"notes.txt", "milk"},
      {"MANIFEST.json", "{\"name\": \"a browser's extension\"}"},
      {"partition-0000.capstan", "beside the checkpoints"},
      {"photos/a.jpg", "cat"},
      {"thesis/chapter-1/text.tex", "once"},
      {"state/chief.json", "another job's"},
      {"checkpoints/000000000001-a/MANIFEST.json", ""},
      {"checkpoints/000000000001-a/partition-0000.capstan", "another job's"},
      // No checkpoint has such a name.
      {"100/MANIFEST.json", ""},
      {"100-/partition-0000.capstan", "x"},
      {"-a/partition-0000.capstan", "x"},
      {"a-100/MANIFEST.json", ""},
      {"100x-a/MANIFEST.json", ""},
      {"100-a=b/MANIFEST.json", ""},
      {"100-a@b/partition-0000.capstan", "x"},
      // The name is that of a checkpoint, but the contents are not.
      {"2024-photos/a.jpg", "dog"},
      {"2025-backup/MANIFEST.json", "packed by a backup program"},
      {"2025-backup/partition-0000.img", "a disk"},
      {"2026-album/MANIFEST.json", ""},
      {"2026-album/2026-07/a.jpg", "sea"},
      {"2027-deep/partition-0000.capstan/partition-0000.capstan", "a folder of that name"},
      // These are nearly the names of partition files.
      {"300-a/partition-000.capstan", "x"},
      {"301-a/partition-00000.capstan", "x"},
      {"302-a/partition-0000.capstan.old", "x"},
      {"303-a/partition--001.capstan", "x"},
      {"304-a/partition-+001.capstan", "x"},
      {"305-a/Partition-0000.capstan", "x"},
      {"306-a/manifest.json", ""},
      {"307-a/MANIFEST.json.bak", ""},
      {"308-a/partition-99999999999999999999.capstan", "x"},
  };
  return *things;
}

}  // namespace

void PutStrangersThings(ObjectStore& folder) {
  for (const auto& [key, bytes] : Things()) ASSERT_TRUE(folder.Put(key, bytes).ok()) << key;
}

void ExpectStrangersThings(ObjectStore& folder) {
  for (const auto& [key, bytes] : Things()) {
    const absl::StatusOr<std::string> present = folder.Get(key);
    ASSERT_TRUE(present.ok()) << key << ": " << present.status();
    EXPECT_EQ(*present, bytes) << key;
    const std::string beside = key.substr(0, key.rfind('/') + 1);
    if (beside.empty()) continue;
    const absl::StatusOr<std::vector<ObjectInfo>> objects = folder.List(beside);
    ASSERT_TRUE(objects.ok()) << objects.status();
    for (const ObjectInfo& object : *objects) {
      EXPECT_TRUE(Things().contains(object.key)) << object.key << " was not there";
    }
  }
}

}  // namespace capstan
