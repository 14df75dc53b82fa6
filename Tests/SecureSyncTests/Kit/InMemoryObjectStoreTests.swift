import Foundation
import SyncTestKit
import Testing

@Suite(.timeLimit(.minutes(10))) struct InMemoryObjectStoreTests {
    @Test(arguments: StoreConformance.Check.allCases)
    func `it keeps every promise of a store`(_ check: StoreConformance.Check) async throws {
        let store = InMemoryObjectStore()
        try await StoreConformance(under: "test/\(check)/".lowercased()) { store }.run(check)
        #expect(store.names.isEmpty)
    }
}
