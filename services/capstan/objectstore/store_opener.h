// The type of functions that open object stores, for code that gets their addresses.
#ifndef CAPSTAN_OBJECTSTORE_STORE_OPENER_H_
#define CAPSTAN_OBJECTSTORE_STORE_OPENER_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "capstan/objectstore/object_store.h"

namespace capstan {

// Opens the store at `uri`, with the errors of OpenObjectStore. Thread-safe.
using StoreOpener =
    std::function<absl::StatusOr<std::unique_ptr<ObjectStore>>(const std::string& uri)>;

// OpenObjectStore, with options from the environment.
inline StoreOpener OpensAnyStore() {
  return [](const std::string& uri) { return OpenObjectStore(uri); };
}

}  // namespace capstan

#endif  // CAPSTAN_OBJECTSTORE_STORE_OPENER_H_
