import Foundation
import ObjectStores
import SecureKeys
import SecureSync
import S3Store
import SyncTestKit
import TestSupport
import Testing

private let endpointOfS3 = ProcessInfo.processInfo.environment["SECURESTORAGE_S3"].flatMap {
    URL(string: $0)
}

/// What every store promises, by a server that speaks S3: `Scripts/stores s3 -- …` starts one.
@Suite(.enabled(if: endpointOfS3 != nil, "SECURESTORAGE_S3 names no server"))
struct S3ConformanceTests {
    private static func store(bucket: String = "securestorage") throws -> S3ObjectStore {
        try S3ObjectStore(
            endpoint: endpointOfS3, bucket: bucket, prefix: "tests", region: "us-east-1",
            patience: .seconds(60), timeout: .seconds(60)
        ) { S3Credentials(accessKeyID: "test", secretAccessKey: SecretBytes(utf8: "test")) }
    }

    @Test(arguments: StoreConformance.Check.allCases)
    func `a bucket keeps what a store promises`(_ check: StoreConformance.Check) async throws {
        let prefix = "\(check.rawValue.lowercased())-\(UUID().uuidString.lowercased())/"
        try await StoreConformance(under: prefix) { try Self.store() }.run(check)
    }

    @Test func `a bucket that does not exist is an error, and no empty store`() async throws {
        let store = try Self.store(bucket: "there-is-none")
        for call in [
            { _ = try await store.read("a") }, { _ = try await store.list("", after: nil) },
            { _ = try await store.create("a", Data()) }, { try await store.mark("a", Data()) },
            { try await store.remove(["a"]) }, { try await store.remove(["a", "b"]) },
            { _ = try await store.waitForMark("a", since: nil, atMost: .seconds(5)) },
        ] as [() async throws -> Void] {
            let error = await #expect(throws: StoreError.self) { try await call() }
            guard case .failed("404 NoSuchBucket", let message, false) = error else {
                Issue.record("\(String(describing: error))")
                continue
            }
            check(message.contains("there-is-none"))
        }
    }

    @Test func `more objects than a request may name are removed`() async throws {
        let store = try Self.store()
        let prefix = "many-\(UUID().uuidString.lowercased())/"
        _ = try await store.create(prefix + "1", Data("1".utf8))
        _ = try await store.create(prefix + "2400", Data("1".utf8))
        try await store.remove((0..<2500).map { prefix + "\($0)" })
        try await check(store.listAll(prefix).isEmpty)
    }
}
