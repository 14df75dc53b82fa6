import Foundation
import SecureKeys
import SecureStorage
import Testing
import TestSupport

struct FileKeyStoreTests {
    let folder: KeyFolder
    let store: FileKeyStore

    init() throws {
        folder = try KeyFolder()
        store = try folder.store()
    }

    private func mode(_ path: String) throws -> mode_t {
        var status = stat()
        try require(lstat(path, &status) == 0)
        return status.st_mode & 0o7777
    }

    // MARK: - Format

    /// The expected bytes, written by hand, with the SHA-256 from Python's hashlib.
    static let written = """
        53534b4559000001000c000000206461746162617365206b6579\
        000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f\
        6550176bb36b29bfe6744fa1d944d3b53e1fc91b1132c8b5260b2260d63b0fd9
        """
    static let fileName = "6ed02b006ad68432fd58f92eb14b7b66d2e9dd0319c0898417319cb4b844ca65.key"

    @Test func `a file has the documented bytes and the documented name`() throws {
        let secret = SecretBytes(copying: Data((0..<32).map { UInt8($0) }))
        try store.store(secret, forName: "database key")
        try check(folder.fileNames(), equals: [Self.fileName])
        let bytes = try Data(contentsOf: folder.url.appendingPathComponent(Self.fileName))
        check(bytes.map { String(format: "%02x", $0) }.joined(), equals: Self.written)
        try check(folder.store().read("database key"), equals: secret)
    }

    @Test func `no part of a name gets into a path`() throws {
        for name in KeyStoreCheck.hostileNames { try store.store(.uniform(1), forName: name) }
        let names = try folder.fileNames()
        check(names.count, equals: KeyStoreCheck.hostileNames.count)
        check(names.allSatisfy { $0.utf8.count == 68 && $0.lowercased() == $0 })
    }

    // MARK: - Damage

    @Test func `every flipped bit is detected, and no other secret is read`() throws {
        try store.store(.uniform(7), forName: "k")
        let path = try folder.onlyFile()
        let whole = try Data(contentsOf: URL(fileURLWithPath: path))
        for position in whole.indices {
            for bit in 0..<8 {
                var bytes = whole
                bytes[position] ^= 1 << bit
                try Self.overwrite(path, bytes)
                let error = keyStoreError { _ = try store.read("k") }
                check(error?.kind, equals: .damaged, "byte \(position), bit \(bit)")
            }
        }
        try Self.overwrite(path, whole)
        try check(store.read("k"), equals: .uniform(7))
    }

    @Test func `every truncation and every extra byte is detected`() throws {
        try store.store(.uniform(7), forName: "k")
        let path = try folder.onlyFile()
        let whole = try Data(contentsOf: URL(fileURLWithPath: path))
        for length in 0..<whole.count {
            try Self.overwrite(path, whole.prefix(length))
            check(
                keyStoreError { _ = try store.read("k") }?.kind, equals: .damaged, "\(length) bytes"
            )
        }
        for count in [1, 32, 100_000] {
            try Self.overwrite(path, whole + Data(count: count))
            check(keyStoreError { _ = try store.read("k") }?.kind, equals: .damaged)
        }
    }

    @Test func `a damaged secret is neither absent nor replaced by an insert, and can be removed`()
        throws
    {
        try store.store(.uniform(7), forName: "k")
        try Self.overwrite(folder.onlyFile(), Data(count: 100))
        check(
            keyStoreError { _ = try store.read("k", orInsert: { .uniform(8) }) }?.kind,
            equals: .damaged)
        check(
            keyStoreError { try store.insert(.uniform(8), forName: "k") },
            equals: .alreadyExists(name: "k"))
        check(keyStoreError { _ = try store.names() }?.kind, equals: .damaged)
        try check(store.remove("k"))
        check(keyStoreError { _ = try store.read("k") }?.kind, equals: .notFound)
        try check(store.names(), equals: [])
    }

    @Test func `a secret's file under another secret's name is damage`() throws {
        try store.store(.uniform(1), forName: "a")
        let a = try folder.onlyFile()
        let bytes = try Data(contentsOf: URL(fileURLWithPath: a))
        try store.store(.uniform(2), forName: "b")
        let b = try require(folder.fileNames().map { "\(folder.path)/\($0)" }.first { $0 != a })
        try Self.overwrite(b, bytes)
        check(keyStoreError { _ = try store.read("b") }?.kind, equals: .damaged)
        check(keyStoreError { _ = try store.names() }?.kind, equals: .damaged)
        try check(store.read("a"), equals: .uniform(1))
    }

    private static func overwrite(_ path: String, _ bytes: Data) throws {
        let file = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
        try file.truncate(atOffset: 0)
        try file.write(contentsOf: bytes)
        try file.close()
    }

    // MARK: - Modes, links, owners

    @Test(arguments: [0o000, 0o022, 0o077, 0o277, 0o777] as [UInt32])
    func `modes are 0700 and 0600 under each umask`(_ mask: UInt32) async throws {
        let folder = try KeyFolder()
        await #expect(processExitsWith: .success) {
            [path = folder.path as String, mask = mask as UInt32] in
            umask(mode_t(mask))
            let store = try FileKeyStore(directory: URL(fileURLWithPath: path))
            try store.store(.uniform(1), forName: "k")
            try store.store(.uniform(2), forName: "k")
            try check(store.read("k"), equals: .uniform(2))
        }
        try check(mode(folder.path), equals: 0o700)
        try check(mode(folder.onlyFile()), equals: 0o600)
    }

    enum Surprise: String, CaseIterable {
        case symbolicLink, danglingLink, hardLink, directory, fifo, groupReadable, othersWritable

        func put(at path: String) throws {
            switch self {
            case .symbolicLink:
                try require(rename(path, path + ".moved") == 0)
                try require(symlink(path + ".moved", path) == 0)
            case .danglingLink:
                try require(unlink(path) == 0)
                try require(symlink(path + ".none", path) == 0)
            case .hardLink: try require(link(path, path + ".second") == 0)
            case .directory:
                try require(unlink(path) == 0)
                try require(mkdir(path, 0o700) == 0)
            case .fifo:
                try require(unlink(path) == 0)
                try require(mkfifo(path, 0o600) == 0)
            case .groupReadable: try require(chmod(path, 0o640) == 0)
            case .othersWritable: try require(chmod(path, 0o602) == 0)
            }
        }
    }

    @Test(arguments: Surprise.allCases)
    func `a kind of file that the store never creates is refused by all calls but remove`(
        _ surprise: Surprise
    )
        throws
    {
        try store.store(.uniform(1), forName: "k")
        let path = try folder.onlyFile()
        try surprise.put(at: path)
        let secret = SecretBytes.uniform(2)
        check(keyStoreError { try store.store(secret, forName: "k") }?.kind, equals: .refused)
        check(keyStoreError { try store.insert(secret, forName: "k") }?.kind, equals: .refused)
        check(keyStoreError { _ = try store.read("k") }?.kind, equals: .refused)
        check(keyStoreError { _ = try store.names() }?.kind, equals: .refused)
        check(!FileManager.default.fileExists(atPath: path + ".none"))
        guard surprise != .directory else {
            check(keyStoreError { try store.remove("k") }?.kind, equals: .refused)
            return
        }
        try check(store.remove("k"))
        try store.insert(secret, forName: "k")
        try check(store.read("k"), equals: secret)
    }

    @Test(arguments: [0o750, 0o701, 0o777, 0o770] as [UInt32])
    func `a directory accessible to other users is refused`(_ mode: UInt32) throws {
        try store.store(.uniform(1), forName: "k")
        try require(chmod(folder.path, mode_t(mode)) == 0)
        check(store.errors(forName: "k"), equals: Array(repeating: .refused, count: 5))
        check(keyStoreError { _ = try folder.store() }?.kind, equals: .refused)
    }

    @Test func `a link to a directory is refused, even with a trailing slash`() throws {
        let link = try KeyFolder()
        try require(symlink(folder.path, link.path) == 0)
        check(keyStoreError { _ = try link.store() }?.kind, equals: .refused)
        let withSlash = URL(fileURLWithPath: link.path + "/", isDirectory: true)
        check(keyStoreError { _ = try FileKeyStore(directory: withSlash) }?.kind, equals: .refused)
    }

    @Test(.enabled(if: getuid() == 0, "needs root, to give files away"))
    func `a file or directory of another user is refused`() throws {
        try store.store(.uniform(1), forName: "k")
        try require(chown(folder.onlyFile(), 65534, 65534) == 0)
        check(store.errors(forName: "k"), equals: [.refused, .refused, .refused, nil, nil])
        try store.store(.uniform(1), forName: "k")
        try require(chown(folder.path, 65534, 65534) == 0)
        check(store.errors(forName: "k"), equals: Array(repeating: .refused, count: 5))
    }

    // MARK: - The directory

    @Test func `a missing directory is not an empty store if it must exist`() throws {
        let missing = try KeyFolder()
        let error = keyStoreError {
            _ = try FileKeyStore(directory: missing.url, creatingDirectory: false)
        }
        check(error?.kind, equals: .unavailable)
        try FileManager.default.removeItem(at: folder.url)
        check(store.errors(forName: "k"), equals: Array(repeating: .unavailable, count: 5))
    }

    @Test func `a URL that is not a directory is an error`() throws {
        let file = folder.url.appendingPathComponent("file")
        try Data().write(to: file)
        let urls = [
            file, file.appendingPathComponent("x"), folder.url.appendingPathComponent("none/a/b"),
            URL(string: "https://example.org/keys"), URL(fileURLWithPath: "/"),
        ]
        for url in urls.compactMap({ $0 }) {
            check(keyStoreError { _ = try FileKeyStore(directory: url) } != nil, "\(url)")
        }
    }

    @Test func `a private file in the place of the directory is refused as no directory`() throws {
        let url = folder.url.appendingPathComponent("file")
        try Data().write(to: url)
        chmod(url.path, 0o600)
        let error = try require(
            #expect(throws: KeyStoreError.self) {
                _ = try FileKeyStore(directory: url).read("a")
            })
        check("\(error)".contains("cannot open the directory"), "\(error)")
        check("\(error)".contains("Not a directory"), "\(error)")
    }

    @Test func `other files in the directory are left alone`() throws {
        for name in ["notes.txt", "x.key", ".hidden", String(repeating: "g", count: 64) + ".key"] {
            try Data("other".utf8).write(to: folder.url.appendingPathComponent(name))
        }
        try store.store(.uniform(1), forName: "k")
        try check(store.names(), equals: ["k"])
        try check(folder.fileNames().count, equals: 5)
    }
}
