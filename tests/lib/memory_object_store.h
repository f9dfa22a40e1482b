// An object store in memory, for tests: as strict as the real ones, and nothing to clean up.
#ifndef CAPSTAN_TESTS_LIB_MEMORY_OBJECT_STORE_H_
#define CAPSTAN_TESTS_LIB_MEMORY_OBJECT_STORE_H_

#include <map>
#include <memory>
#include <string>

#include "capstan/objectstore/object_store.h"

namespace capstan {

// Thread-safe.
std::unique_ptr<ObjectStore> MakeMemoryObjectStore();
// One in which others have put these objects, by their keys, which may be such as Capstan does not
// write itself.
std::unique_ptr<ObjectStore> MakeForeignObjectStore(
    const std::map<std::string, std::string>& objects);

// Writes with Put what was appended, at Commit. `store` must outlive the result. For stores that
// have nothing better.
std::unique_ptr<ObjectWriter> MakeBufferedWriter(ObjectStore& store, std::string key);

}  // namespace capstan

#endif  // CAPSTAN_TESTS_LIB_MEMORY_OBJECT_STORE_H_
