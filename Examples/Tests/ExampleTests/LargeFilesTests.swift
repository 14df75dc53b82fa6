import Foundation
import SecureStorage
import Testing
import ExampleSupport

@testable import LargeFiles

/// The example that keeps files in pieces.
struct LargeFilesTests {
    private let folder = try? TemporaryDatabase()

    private func withArchive(_ body: (FileArchive, URL) async throws -> Void) async throws {
        let database = try require(folder)
        let archive = FileArchive(path: database.path)
        try await archive.open(with: .raw(SecretBytes(copying: TemporaryDatabase.key)))
        do {
            try await body(
                archive, URL(fileURLWithPath: database.path).deletingLastPathComponent())
        } catch {
            await archive.close()
            throw error
        }
        await archive.close()
    }

    private func content(_ seed: UInt64, bytes: Int) -> Data {
        var generator = SplitMix64(seed: seed)
        return Data((0..<bytes).map { _ in UInt8.random(in: 0...255, using: &generator) })
    }

    private func put(_ content: Data, _ name: String, _ archive: FileArchive, _ folder: URL)
        async throws
    {
        let file = folder.appendingPathComponent("source")
        try content.write(to: file)
        try await archive.put(try FileHandle(forReadingFrom: file), as: name)
    }

    private func get(_ name: String, _ archive: FileArchive, _ folder: URL) async throws -> Data? {
        let file = folder.appendingPathComponent("copy")
        try Data().write(to: file)
        let isThere = try await archive.get(name, into: try FileHandle(forWritingTo: file))
        return isThere ? try Data(contentsOf: file) : nil
    }

    @Test(arguments: [0, 1, 1 << 18, 9_000_000])
    func `a file comes out as it went in`(_ size: Int) async throws {
        try await withArchive { archive, folder in
            let bytes = content(1, bytes: size)
            try await put(bytes, "film", archive, folder)
            try await check(get("film", archive, folder), equals: bytes)
            try await check(archive.list().map(\.bytes), equals: [Int64(size)])
        }
    }

    @Test func `a file replaces the one of its name, and is removed whole`() async throws {
        try await withArchive { archive, folder in
            try await put(content(1, bytes: 600_000), "a", archive, folder)
            try await put(content(2, bytes: 300_000), "a", archive, folder)
            try await put(content(3, bytes: 10), "b", archive, folder)
            try await check(get("a", archive, folder), equals: content(2, bytes: 300_000))
            try await check(archive.list().map(\.name), equals: ["a", "b"])
            try await check(archive.remove("a"))
            try await check(!archive.remove("a"))
            try await check(get("a", archive, folder) == nil)
            try await check(get("b", archive, folder), equals: content(3, bytes: 10))
        }
    }

    @Test func `a source that fails leaves the earlier file, and nothing of the new one`()
        async throws
    {
        try await withArchive { archive, folder in
            try await put(content(1, bytes: 600_000), "a", archive, folder)
            // A directory can be opened, but not read.
            let directory = FileHandle(
                fileDescriptor: open(folder.path, O_RDONLY | O_CLOEXEC), closeOnDealloc: true)
            await #expect(throws: (any Error).self) { try await archive.put(directory, as: "a") }
            try await check(get("a", archive, folder), equals: content(1, bytes: 600_000))
            try await check(archive.list().count, equals: 1)
        }
    }
}
