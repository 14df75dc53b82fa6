import Foundation
import ObjectStores
import SyncTestKit
import TestSupport
import Testing

struct InMemoryObjectStoreTests {
    @Test(arguments: StoreConformance.Check.allCases)
    func `it keeps every promise of a store`(_ promise: StoreConformance.Check) async throws {
        let store = InMemoryObjectStore()
        try await StoreConformance(under: "test/\(promise)/".lowercased()) { store }.run(promise)
        check(store.names.isEmpty)
    }
}
