import Foundation
import SecureStoragePlatform
import Testing

@Suite struct AtomicFileTests {
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
        #expect(folder.text("a") == "new")
        #expect(try folder.names == ["a"])
        let status = try Descriptor(folder.path + "/a", O_RDONLY).status()
        #expect(status.st_mode & 0o777 == 0o666, "the umask counts")
    }

    @Test func `paths may begin in an open directory`() throws {
        let directory = try Descriptor(folder.path, O_RDONLY | O_DIRECTORY)
        try Array("text".utf8).withUnsafeBytes {
            try AtomicFile.write($0, as: "a", draft: "draft", in: directory)
        }
        #expect(folder.text("a") == "text")
    }

    @Test func `an error leaves no draft`() throws {
        let place = folder.path + "/a"
        try FileManager.default.createDirectory(
            atPath: place + "/b", withIntermediateDirectories: true)
        let error = #expect(throws: SystemError.self) { try write("text", as: "a") }
        #expect(error?.action == "rename")
        #expect(try folder.names == ["a"])
    }

    @Test func `a draft of another writer is an error, and stays`() throws {
        try folder.write("other", to: "draft")
        let error = #expect(throws: SystemError.self) { try write("text", as: "a") }
        #expect(error?.code == EEXIST)
        #expect(folder.text("draft") == "other")
    }

    @Test func `only a caller that asks for it replaces a file`() throws {
        let (draft, place) = (folder.path + "/draft", folder.path + "/a")
        try folder.write("old", to: "a")
        try folder.write("new", to: "draft")
        let error = #expect(throws: SystemError.self) {
            try AtomicFile.rename(draft, to: place, replacing: false)
        }
        #expect(error?.code == EEXIST)
        #expect(folder.text("a") == "old" && folder.text("draft") == "new")
        try AtomicFile.rename(draft, to: place, replacing: true)
        #expect(folder.text("a") == "new")
        #expect(try folder.names == ["a"])
    }
}
