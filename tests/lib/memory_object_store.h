// An object store in memory, for tests. It is as strict as the real ones, and leaves nothing to
// clean up.
#ifndef CAPSTAN_TESTS_LIB_MEMORY_OBJECT_STORE_H_
#define CAPSTAN_TESTS_LIB_MEMORY_OBJECT_STORE_H_

#include <map>
#include <memory>
#include <string>

#include "capstan/objectstore/object_store.h"

namespace capstan {

// Thread-safe.
std::unique_ptr<ObjectStore> MakeMemoryObjectStore();
// Returns a store that holds these objects by their keys, as if others had put them there. The keys
// may be ones that Capstan itself would not write.
std::unique_ptr<ObjectStore> MakeForeignObjectStore(
    const std::map<std::string, std::string>& objects);

// Returns a writer that keeps what is appended in memory and writes it to `store` at Commit. For
// stores without a better way. `store` must outlive the result.
std::unique_ptr<ObjectWriter> MakeBufferedWriter(ObjectStore& store, std::string key);

}  // namespace capstan

#endif  // CAPSTAN_TESTS_LIB_MEMORY_OBJECT_STORE_H_
