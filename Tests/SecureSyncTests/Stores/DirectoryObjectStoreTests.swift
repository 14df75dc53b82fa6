import Foundation
import ObjectStores
import SecureSync
import SyncTestKit
import Testing
import TestSupport

/// Objects as files.
struct DirectoryObjectStoreTests {
    private let folder: TemporaryDatabase

    init() throws { folder = try TemporaryDatabase() }

    private var directory: URL {
        URL(fileURLWithPath: folder.path).deletingLastPathComponent()
            .appendingPathComponent("store")
    }

    @Test(arguments: StoreConformance.Check.allCases)
    func `a directory keeps what a store promises`(_ check: StoreConformance.Check) async throws {
        let directory = directory
        try await StoreConformance(under: "test/") { DirectoryObjectStore(directory: directory) }
            .run(check)
    }

    @Test func `an error names the directory whose parent is missing, and nothing is made`()
        async throws
    {
        let store = directory.appendingPathComponent("none/store")
        let error = await #expect(throws: StoreError.self) {
            _ = try await DirectoryObjectStore(directory: store).create("a", Data("a".utf8))
        }
        let message =
            "cannot make the store's directory \"\(store.path)\": No such file or directory; "
            + "make the directory that it is in, or mount it"
        check(error, equals: .failed(code: "ENOENT", message: message, isTransient: false))
        check(!FileManager.default.fileExists(atPath: directory.path))
    }

    @Test func `links that others put below a directory lead nowhere`() async throws {
        let (files, store) = (FileManager.default, DirectoryObjectStore(directory: directory))
        let outside = directory.deletingLastPathComponent().appendingPathComponent("outside")
        let secret = outside.appendingPathComponent("1")
        try files.createDirectory(at: outside, withIntermediateDirectories: true)
        try Data("secret".utf8).write(to: secret)
        check(try await store.create("group/a/1", Data("a".utf8)))
        try files.createSymbolicLink(
            at: directory.appendingPathComponent("group/b"), withDestinationURL: outside)
        try files.createSymbolicLink(
            at: directory.appendingPathComponent("group/c"), withDestinationURL: secret)
        for name in ["group/b/1", "group/c"] { check(try await store.read(name) == nil) }
        check(
            try await store.list("group/", after: nil).objects.map(\.name), equals: ["group/a/1"])
        await #expect(throws: StoreError.self) {
            try await store.create("group/b/2", Data("b".utf8))
        }
        // It takes no name from an object.
        check(try await store.create("group/c", Data("c".utf8)))
        check(try await store.read("group/c"), equals: Data("c".utf8))
        await #expect(throws: StoreError.self) { try await store.mark("group/b/w", Data([1])) }
        try await store.remove(["group/b/1", "group/a/1"])
        check(try files.contentsOfDirectory(atPath: outside.path), equals: ["1"])
        check(try Data(contentsOf: secret), equals: Data("secret".utf8))
    }
}
