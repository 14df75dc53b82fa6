import Foundation
import SecureKeys
import SecureMirror
import Testing

@testable import NotesService

@Suite struct ArgumentTests {
    @Test func `a mirror is named by its kind and its place`() {
        #expect(MirrorPlace(argument: "directory:/srv/mirror") == .directory("/srv/mirror"))
        #expect(MirrorPlace(argument: "s3://bucket/a") == .s3(address: "s3://bucket/a"))
        #expect(MirrorPlace(argument: "postgresql:notes") == .postgreSQL(group: "notes"))
        for wrong in ["", "directory:", "directory:mirror", "/srv/mirror", "ftp://x"] {
            #expect(MirrorPlace(argument: wrong) == nil)
        }
    }

    @Test(arguments: [31, 33, 0]) func `a key has 32 bytes`(_ count: Int) throws {
        try withFile(count, mode: 0o600) { path in
            #expect(throws: ServiceError.self) { try KeySource.file(path).databaseKey() }
        }
    }

    @Test func `a key that others can read is refused`() throws {
        try withFile(32, mode: 0o600) { path in
            _ = try KeySource.file(path).databaseKey()
        }
        try withFile(32, mode: 0o640) { path in
            #expect(throws: ServiceError.self) { try KeySource.file(path).databaseKey() }
        }
        #expect(throws: ServiceError.key("/nowhere/key does not exist")) {
            try KeySource.file("/nowhere/key").databaseKey()
        }
    }

    private func withFile(_ count: Int, mode: Int, _ body: (String) throws -> Void) throws {
        let path = FileManager.default.temporaryDirectory
            .appendingPathComponent("key-\(UUID().uuidString)").path
        #expect(
            FileManager.default.createFile(
                atPath: path, contents: Data(repeating: 1, count: count),
                attributes: [.posixPermissions: mode]))
        defer { try? FileManager.default.removeItem(atPath: path) }
        try body(path)
    }
}
