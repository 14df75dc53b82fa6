import Foundation
import SecureKeys
import SecureStorage
import Testing
import TestSupport

/// Tests of kills, full disks, and concurrent processes.
struct FileKeyStoreCrashTests {
    let folder: KeyFolder

    init() throws {
        folder = try KeyFolder()
    }

    /// How often `make campaign NAME=crash` kills a process; nil means a few times.
    static let kills = ProcessInfo.processInfo.environment["SECURESTORAGE_KILLS"]
        .flatMap { Int($0) }

    @Test func `a kill at any time leaves the old secret or the new one`() async throws {
        let store = try folder.store()
        let journal = FileManager.default.temporaryDirectory
            .appendingPathComponent("SecureKeysTests-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: journal) }
        var drafts = 0
        for _ in 1...(Self.kills ?? 20) {
            try Data([0]).write(to: journal)
            try store.store(.uniform(0), forName: "k")
            let delay = UInt32.random(in: 0...20_000)
            await #expect(processExitsWith: .signal(SIGKILL)) {
                [
                    path = folder.path as String, journal = journal.path as String,
                    delay = delay as UInt32
                ] in
                let store = try FileKeyStore(directory: URL(fileURLWithPath: path))
                let file = open(journal, O_WRONLY)
                try require(file >= 0)
                Thread.detachNewThread {
                    usleep(delay)
                    kill(getpid(), SIGKILL)
                }
                var number: UInt8 = 0
                while true {
                    number = number % 200 + 1
                    try store.store(.uniform(number), forName: "k")
                    // Acknowledged: from now on the secret must be stored.
                    pwrite(file, &number, 1, 0)
                }
            }
            let acknowledged = try require(Data(contentsOf: journal).first)
            let found = try require(store.read("k").uniformByte)
            check(found == acknowledged || found == acknowledged % 200 + 1)
            try check(store.names(), equals: ["k"])
            drafts += try folder.fileNames().count - 1
            try store.store(.uniform(0), forName: "k")
            try check(
                folder.fileNames().count, equals: 1, "leftovers of the killed process are gone")
        }
        if Self.kills != nil { print("kills of stores: \(drafts) left a draft") }
    }

    @Test func `what a killed process left is never read, and the next change removes it`() throws {
        let store = try folder.store()
        for name in [".new-", ".new-0", ".new-\(UUID().uuidString)"] {
            try Data("half of a".utf8).write(to: folder.url.appendingPathComponent(name))
        }
        try check(store.names(), equals: [])
        try check(folder.fileNames().count, equals: 3)
        try store.remove("absent")
        try check(folder.fileNames(), equals: [])
    }

    @Test func `a full disk leaves the old secret and no temporary file`() async throws {
        let store = try folder.store()
        try store.store(.uniform(1), forName: "k")
        await #expect(processExitsWith: .success) { [path = folder.path as String] in
            signal(SIGXFSZ, SIG_IGN)
            let store = try FileKeyStore(directory: URL(fileURLWithPath: path))
            for limit in [0, 1, 20, 100] {
                var limits = rlimit(rlim_cur: rlim_t(limit), rlim_max: rlim_t.max)
                #if os(Linux)
                    setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limits)
                #else
                    setrlimit(RLIMIT_FSIZE, &limits)
                #endif
                let secret = SecretBytes.random(count: 200)
                let errors = [
                    keyStoreError { try store.store(secret, forName: "k") },
                    keyStoreError { try store.insert(secret, forName: "other") },
                ]
                check(errors.map { $0?.kind }, equals: [.unavailable, .unavailable])
            }
        }
        try check(store.read("k"), equals: .uniform(1))
        try check(folder.fileNames().count, equals: 1)
    }

    @Test func `when eight processes insert, one wins and all read its secret`() async throws {
        _ = try folder.store()
        let results = try KeyFolder()
        try FileManager.default.createDirectory(at: results.url, withIntermediateDirectories: true)
        await withTaskGroup(of: Void.self) { group in
            for number in 1...8 {
                group.addTask {
                    await #expect(processExitsWith: .success) {
                        [
                            path = folder.path as String, results = results.path as String,
                            number = number as Int
                        ] in
                        let store = try FileKeyStore(directory: URL(fileURLWithPath: path))
                        var found: [UInt8] = []
                        for round in 0..<50 {
                            let secret = try store.read("k\(round)") { .uniform(UInt8(number)) }
                            found.append(try require(secret.uniformByte))
                        }
                        try Data(found).write(to: URL(fileURLWithPath: "\(results)/\(number)"))
                    }
                }
            }
        }
        let found = try results.fileNames().map {
            try Data(contentsOf: results.url.appendingPathComponent($0))
        }
        check(found.count, equals: 8)
        check(Set(found).count, equals: 1)
        let store = try folder.store()
        try check(store.names().count, equals: 50)
        for round in 0..<50 {
            try check(store.read("k\(round)").uniformByte, equals: found.first?[round])
        }
    }

    @Test func `a process stopped while it holds the lock blocks no other forever`() throws {
        let store = try folder.store()
        try store.store(.uniform(1), forName: "k")
        let holder = open(folder.path, O_RDONLY | O_CLOEXEC)
        try require(holder >= 0 && flock(holder, LOCK_EX) == 0)
        try check(store.read("k"), equals: .uniform(1), "reading needs no lock")
        let start = Date()
        let error = keyStoreError { try store.store(.uniform(2), forName: "k") }
        check(error?.kind, equals: .unavailable)
        check((9...60).contains(Date().timeIntervalSince(start)))
        // Unlock explicitly: children forked by other tests may hold the descriptor.
        flock(holder, LOCK_UN)
        close(holder)
        try store.store(.uniform(2), forName: "k")
        try check(store.read("k"), equals: .uniform(2))
    }

    #if os(Linux)
        @Test func `no descriptor is left open`() async throws {
            await #expect(processExitsWith: .success) { [path = folder.path as String] in
                let store = try FileKeyStore(directory: URL(fileURLWithPath: path))
                // Only those of the folder: the process may open others in the meantime.
                var descriptors: [String] { Descriptors.paths.filter { $0.hasPrefix(path) } }
                let own = open(path, O_RDONLY | O_CLOEXEC)
                check(descriptors.count, equals: 1, "the folder's path is not its real path")
                close(own)
                for _ in 0..<100 {
                    try store.store(.uniform(1), forName: "k")
                    _ = try store.read("k")
                    _ = try store.names()
                    _ = store.errors(forName: "")
                    _ = keyStoreError { _ = try store.read("absent") }
                    try store.remove("k")
                }
                check(descriptors, equals: [])
            }
        }
    #endif
}
