// Metrics of the calls that a process makes to its object stores.
#ifndef CAPSTAN_OBJECTSTORE_MEASURED_OBJECT_STORE_H_
#define CAPSTAN_OBJECTSTORE_MEASURED_OBJECT_STORE_H_

#include <memory>

#include "capstan/metrics/registry.h"
#include "capstan/objectstore/object_store.h"

namespace capstan {

// Returns `store` with metrics. Each call is counted by its kind and status
// (capstan_object_store_requests_total) and timed (capstan_object_store_request_duration_seconds);
// a client's retries are part of the call. A streamed write counts once, from Create to its Commit
// or first error. `registry` must outlive the store and its writers.
std::unique_ptr<ObjectStore> MeasureObjectStore(std::unique_ptr<ObjectStore> store,
                                                metrics::Registry& registry);

// From now on all stores that OpenObjectStore opens in this process are measured. `registry` must
// outlive them. Must be called by `main` before the first store is opened.
void MeasureObjectStores(metrics::Registry& registry);

// Returns the store with metrics if MeasureObjectStores was called; otherwise the store itself.
std::unique_ptr<ObjectStore> MeasureIfAsked(std::unique_ptr<ObjectStore> store);

}  // namespace capstan

#endif  // CAPSTAN_OBJECTSTORE_MEASURED_OBJECT_STORE_H_
