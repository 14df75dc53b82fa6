import Foundation
import ObjectStores
import SecureKeys
import SecureStorage
import SecureSync

/// What it costs to found a group with many rows, and to join it: in two programs, so that the
/// memory of each is known.
enum JoinFigures {
    /// Founds a group, and prints an invitation.
    static func found(_ count: Int, in folder: URL) async throws {
        let (pool, engine) = try open("founder", in: folder)
        try await pool.write { db in
            let insert = try db.prepare("INSERT INTO note VALUES (?, ?, ?, ?)")
            for number in 0..<count {
                let id = Data((0..<16).map { _ in UInt8.random(in: 0 ... .max) })
                try insert.executeUpdate(values: [id, text, number, 1_700_000_000_000 + number])
            }
        }
        let start = ContinuousClock.now
        try await engine.createGroup(deviceName: "founder")
        let time = ContinuousClock.now - start
        print(try await engine.invite(.once, role: .admin).code)
        FileHandle.standardError.write(
            Data("found \(count) rows: \(time), \(memory()) MiB\n".utf8))
    }

    /// Joins it, and reads all rows.
    static func join(_ code: String, in folder: URL) async throws {
        let (pool, engine) = try open("joiner", in: folder)
        let before = memory()
        let peak = OwnMemory()
        let start = ContinuousClock.now
        try await engine.join(
            SyncInvitation(code: code), deviceName: "joiner", localRows: .discard)
        try await engine.syncOnce()
        let time = ContinuousClock.now - start
        let count = try await pool.read { try $0.int(forQuery: "SELECT count(*) FROM note") ?? 0 }
        print(
            "join \(count) rows: \(time), at most \(memory()) MiB with the libraries, \(before) before; "
                + "\(peak.end()) MiB of its own")
    }

    /// Sends a row in each batch, and prints what a sync costs after 100 of them and at the end.
    static func batches(_ count: Int, in folder: URL) async throws {
        let (pool, engine) = try open("writer", in: folder)
        try await engine.createGroup(deviceName: "writer")
        var times: [Double] = []
        for number in 0..<count {
            try await pool.write { db in
                try db.executeUpdate(
                    "INSERT INTO note VALUES (?, ?, ?, ?)", Data("\(number)".utf8), text, number, 0)
            }
            let start = processSeconds()
            try await engine.syncOnce()
            times.append(processSeconds() - start)
        }
        // Without those that have written a snapshot.
        func median(_ part: ArraySlice<Double>) -> Double { part.sorted()[part.count / 2] * 1000 }
        print(
            "CPU of a sync of one row in ms: \(median(times[50..<150])) after 100 batches, "
                + "\(median(times.suffix(100))) after \(count)")
    }

    private static func processSeconds() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    static func open(
        _ name: String, in folder: URL, _ store: (any ObjectStore)? = nil
    ) throws -> (SecureDatabasePool, SyncEngine) {
        let keys = try FileKeyStore(directory: folder.appendingPathComponent(name + ".keys"))
        let pool = SecureDatabasePool(url: folder.appendingPathComponent(name + ".db"))
        try pool.open(with: .raw(SecretBytes.random(count: 32)))
        try pool.write { db in
            try db.executeStatements(
                "CREATE TABLE note (id BLOB PRIMARY KEY NOT NULL, text TEXT, n INTEGER, at INTEGER)"
            )
        }
        var tables = SyncedTables()
        tables.add("note")
        let store =
            store ?? DirectoryObjectStore(directory: folder.appendingPathComponent("store"))
        return (pool, try SyncEngine(pool, tables: tables, store: store, keyStore: keys))
    }

    /// The most memory that the process had, in MiB; 0 where `/proc` is not mounted.
    private static func memory() -> Int {
        let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM") }
        return (line?.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0) / 1024
    }
}

/// The most memory of a program's own: resident and backed by no file, looked at each 2 ms.
final class OwnMemory: @unchecked Sendable {
    // @unchecked: the thread's own until `end()` has waited for it.
    private var most = 0
    private let mayGoOn = NSLock()
    private var goesOn = true
    private let hasEnded = DispatchSemaphore(value: 0)

    init() {
        Thread.detachNewThread { [self] in
            while mayGoOn.withLock({ goesOn }) {
                most = max(most, Self.now)
                usleep(2_000)
            }
            hasEnded.signal()
        }
    }

    /// Returns MiB; 0 where `/proc` is not mounted.
    func end() -> Int {
        mayGoOn.withLock { goesOn = false }
        hasEnded.wait()
        return most >> 20
    }

    private static var now: Int {
        let text = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8)) ?? ""
        let pages = text.split(separator: " ").compactMap { Int($0) }
        return pages.count > 2 ? (pages[1] - pages[2]) * Int(sysconf(Int32(_SC_PAGESIZE))) : 0
    }
}
