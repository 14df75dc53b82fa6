import ArgumentParser
import Foundation
import SecureMirror
import SecureStorage

/// A database with a mirror.
struct Subject {
    let pool: SecureDatabasePool
    let store: DirectoryObjectStore
    let key = DatabaseKey.raw(SecretBytes.random(count: 32))
    static let name = "figures"

    init(in folder: URL, groupsWrites: Bool = false) throws {
        var configuration = SecureDatabaseConfiguration()
        configuration.synchronous = .full
        configuration.groupsWrites = groupsWrites
        pool = SecureDatabasePool(
            url: folder.appendingPathComponent("app.db"), configuration: configuration)
        try pool.open(with: key)
        try pool.write {
            try $0.executeUpdate("CREATE TABLE t (id INTEGER PRIMARY KEY, text TEXT, bytes BLOB)")
        }
        store = DirectoryObjectStore(directory: folder.appendingPathComponent("store"))
    }

    func makeMirror() throws -> DatabaseMirror {
        try DatabaseMirror(of: pool, in: store, name: Self.name)
    }

    func insert() async throws {
        try await pool.write {
            try $0.executeUpdate(
                "INSERT INTO t (text, bytes) VALUES (?, randomblob(100))", "a text of usual length")
        }
    }

    /// Commits by several tasks for a time, and returns commits per second.
    func commits(tasks: Int, for duration: Duration) async throws -> Double {
        let end = ContinuousClock.now + duration
        let start = ContinuousClock.now
        let count = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<tasks {
                group.addTask {
                    var count = 0
                    while ContinuousClock.now < end {
                        try await insert()
                        count += 1
                    }
                    return count
                }
            }
            return try await group.reduce(0, +)
        }
        return Double(count) / ((ContinuousClock.now - start) / .seconds(1))
    }
}

struct Writing: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract:
            "commits per second with and without a mirror, in turns; those of several tasks grouped"
    )

    @OptionGroup var folder: Folder
    @Option var tasks = 1
    @Option var rounds = 12

    func run() async throws {
        try await folder.use { folder in
            let subject = try Subject(in: folder, groupsWrites: tasks > 1)
            _ = try await subject.commits(tasks: tasks, for: .seconds(1))
            var (with, without): ([Double], [Double]) = ([], [])
            for round in 0..<rounds {
                // Each pair in the other order.
                for isMirrored in round % 2 == 0 ? [true, false] : [false, true] {
                    if isMirrored {
                        let mirror = try subject.makeMirror()
                        try await mirror.flush()
                        let running = Task { try await mirror.run() }
                        with.append(try await subject.commits(tasks: tasks, for: .seconds(2)))
                        running.cancel()
                        _ = await running.result
                    } else {
                        without.append(try await subject.commits(tasks: tasks, for: .seconds(2)))
                    }
                    try await subject.pool.writeWithoutTransaction { db in
                        _ = try? db.checkpoint(.truncate)
                    }
                }
            }
            let ratio = median(zip(with, without).map { $0 / $1 })
            print(
                "\(tasks) task\(tasks == 1 ? "" : "s"): \(text(median(with), 0)) commits/s with a mirror, "
                    + "\(text(median(without), 0)) without: \(text(ratio)) (at least 0.95)")
            await subject.pool.close()
        }
    }
}

struct Behind: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "how far a mirror is behind, at a rate of commits")

    @OptionGroup var folder: Folder
    @Option var rate = 1000
    @Option var duration = 30

    func run() async throws {
        try await folder.use { folder in
            let subject = try Subject(in: folder)
            let mirror = try subject.makeMirror()
            try await mirror.flush()
            let before = peakMegabytes()
            let running = Task { try await mirror.run() }
            let lags = Task {
                var lags: [Double] = []
                while (try? await Task.sleep(for: .milliseconds(20))) != nil {
                    if let complete = mirror.status.completeAt {
                        lags.append(Date().timeIntervalSince(complete))
                    }
                }
                return lags.sorted()
            }
            let start = ContinuousClock.now
            var done = 0
            while ContinuousClock.now - start < .seconds(duration) {
                let due = Int((ContinuousClock.now - start) / .seconds(1) * Double(rate))
                // Those that are due are committed one by one, at the same time.
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for _ in done..<max(due, done) { group.addTask { try await subject.insert() } }
                    try await group.waitForAll()
                }
                done = max(due, done)
                try await Task.sleep(for: .milliseconds(2))
            }
            let elapsed = (ContinuousClock.now - start) / .seconds(1)
            lags.cancel()
            let sorted = await lags.value
            running.cancel()
            _ = await running.result
            print(
                "\(text(Double(done) / elapsed, 0)) commits/s: behind \(text(median(sorted))) s, at most "
                    + "\(text(sorted.last ?? 0)) s (at most 1); memory \(text(before, 0)) MB before, "
                    + "at most \(text(peakMegabytes(), 0)) MB (the mirror at most 32)")
            await subject.pool.close()
        }
    }
}
