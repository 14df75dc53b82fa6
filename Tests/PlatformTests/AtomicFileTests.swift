import Foundation
import SecureStoragePlatform
import TestSupport
import Testing

struct AtomicFileTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func write(_ text: String, as name: String, mode: mode_t = 0o600) throws {
        try Array(text.utf8).withUnsafeBytes {
            try AtomicFile.write(
                $0, as: "\(folder.path)/\(name)", draft: "\(folder.path)/draft", mode: mode)
        }
    }

    @Test func `a file is replaced as a whole and has the mode that was asked for`() throws {
        try folder.write("old", to: "a")
        try write("new", as: "a", mode: 0o666)
        check(folder.text("a"), equals: "new")
        try check(folder.names, equals: ["a"])
        let status = try Descriptor(folder.path + "/a", O_RDONLY).status()
        check(status.st_mode & 0o777, equals: 0o666, "the umask counts")
    }

    @Test func `paths may begin in an open directory`() throws {
        let directory = try Descriptor(folder.path, O_RDONLY | O_DIRECTORY)
        try Array("text".utf8).withUnsafeBytes {
            try AtomicFile.write($0, as: "a", draft: "draft", in: directory)
        }
        check(folder.text("a"), equals: "text")
    }

    @Test func `an error leaves no temporary file`() throws {
        let place = folder.path + "/a"
        try FileManager.default.createDirectory(
            atPath: place + "/b", withIntermediateDirectories: true)
        let error = #expect(throws: SystemError.self) { try write("text", as: "a") }
        check(error?.action, equals: "rename")
        try check(folder.names, equals: ["a"])
    }

    @Test func `a temporary file of another writer is an error, and stays`() throws {
        try folder.write("other", to: "draft")
        let error = #expect(throws: SystemError.self) { try write("text", as: "a") }
        check(error?.code, equals: EEXIST)
        check(folder.text("draft"), equals: "other")
    }

    @Test func `only a caller that asks for it replaces a file`() throws {
        let (draft, place) = (folder.path + "/draft", folder.path + "/a")
        try folder.write("old", to: "a")
        try folder.write("new", to: "draft")
        let error = #expect(throws: SystemError.self) {
            try AtomicFile.rename(draft, to: place, replacing: false)
        }
        check(error?.code, equals: EEXIST)
        check(folder.text("a") == "old" && folder.text("draft") == "new")
        try AtomicFile.rename(draft, to: place, replacing: true)
        check(folder.text("a"), equals: "new")
        try check(folder.names, equals: ["a"])
    }
}
