import Foundation
import SecureStorage
import SecureSync

// What sync costs: the same writes to a table with triggers and to one without, in turns; and the
// same rows applied from another member's changes.
// Prints the best of all rounds, since others disturb a machine in one direction only.

let rowCount = 50_000
let commitCount = 200
let rounds = 7
let ids = (0..<rowCount).map { _ in Data((0..<16).map { _ in UInt8.random(in: 0 ... .max) }) }
let text = String(repeating: "t", count: 150)

if CommandLine.arguments.count == 4 {
    let arguments = CommandLine.arguments
    let folder = URL(fileURLWithPath: arguments[2], isDirectory: true)
    switch arguments[1] {
    case "batches": try await JoinFigures.batches(Int(arguments[3]) ?? 10_000, in: folder)
    case "members": try await MemberFigures.run(Int(arguments[3]) ?? 1000, in: folder)
    case "found": try await JoinFigures.found(Int(arguments[3]) ?? 0, in: folder)
    default: try await JoinFigures.join(arguments[3], in: folder)
    }
    exit(0)
}

struct Times {
    var insert = Double.infinity
    var update = Double.infinity
    var commit = Double.infinity
    var clockBytes = 0.0
}

/// Returns the seconds of this process's CPU, or of the wall.
func seconds(_ clock: clockid_t, _ body: () throws -> Void) rethrows -> Double {
    func now() -> Double {
        var time = timespec()
        clock_gettime(clock, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
    let start = now()
    try body()
    return now() - start
}

func transaction(_ db: SecureDatabaseStore, _ body: () throws -> Void) throws {
    try db.beginImmediateTransaction()
    try body()
    try db.commit()
}

/// The bytes of pages in use.
func usedBytes(_ db: SecureDatabaseStore) throws -> Double {
    let pages = try db.int64(
        forQuery: "SELECT (SELECT page_count FROM pragma_page_count) - (SELECT freelist_count FROM "
            + "pragma_freelist_count)")
    let size = try db.int64(forQuery: "PRAGMA page_size")
    return Double((pages ?? 0) * (size ?? 0))
}

func measure(_ times: inout Times, isCaptured: Bool, in folder: URL) throws {
    let url = folder.appendingPathComponent("\(UUID().uuidString).db")
    var configuration = SecureDatabaseConfiguration()
    configuration.synchronous = .full
    let db = SecureDatabaseStore(url: url, configuration: configuration)
    try db.open(with: .raw(SecretBytes.random(count: 32)))
    defer { db.close() }
    try db.executeStatements(
        """
        CREATE TABLE note (id BLOB PRIMARY KEY NOT NULL, text TEXT, n INTEGER, at INTEGER);
        """)
    var tables = SyncedTables()
    tables.add("note")
    let capture = Capture(tables)
    if isCaptured {
        try transaction(db) {
            try capture.install(in: db)
            try capture.setMember(.random(), in: db)
        }
    }
    let insert = try db.prepare("INSERT INTO note VALUES (?, ?, ?, ?)")
    let update = try db.prepare("UPDATE note SET n = ? WHERE id = ?")
    times.insert = min(
        times.insert,
        try seconds(CLOCK_PROCESS_CPUTIME_ID) {
            try transaction(db) {
                for (number, id) in ids.enumerated() {
                    try insert.executeUpdate(values: [id, text, number, 1_700_000_000_000 + number])
                }
            }
        })
    if isCaptured { try transaction(db) { _ = try capture.timestamp(in: db) } }
    times.update = min(
        times.update,
        try seconds(CLOCK_PROCESS_CPUTIME_ID) {
            try transaction(db) {
                for (number, id) in ids.enumerated() {
                    try update.executeUpdate(values: [-number - 1, id])
                }
            }
        })
    if isCaptured {
        try transaction(db) { _ = try capture.timestamp(in: db) }
        let with = try usedBytes(db)
        for shape in try capture.shapes(in: db) {
            try transaction(db) {
                for table in shape.clockTables { try db.executeUpdate("DELETE FROM \(table)") }
            }
        }
        times.clockBytes = (with - (try usedBytes(db))) / Double(rowCount)
    }
    times.commit = min(
        times.commit,
        try seconds(CLOCK_MONOTONIC) {
            for number in 0..<commitCount {
                try update.executeUpdate(values: [number + rowCount, ids[number * 37]])
            }
        })
}

let parent =
    CommandLine.arguments.dropFirst().first.map { URL(fileURLWithPath: $0) }
    ?? FileManager.default.temporaryDirectory
let folder = parent.appendingPathComponent("sync-\(UUID().uuidString)")
try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
defer { try? FileManager.default.removeItem(at: folder) }
var plain = Times()
var captured = Times()
var applying = ApplyFigures()
for _ in 0..<rounds {
    try applying.measure(text: text, in: folder)
    try measure(&plain, isCaptured: false, in: folder)
    try measure(&captured, isCaptured: true, in: folder)
}

@MainActor func report(_ name: String, _ time: KeyPath<Times, Double>, _ count: Int, limit: Double)
{
    let (without, with) = (plain[keyPath: time], captured[keyPath: time])
    let unit = 1e6 / Double(count)
    print(
        name,
        String(
            format: "plain %.2f µs, captured %.2f µs: %.2f ×, limit %.1f", without * unit,
            with * unit, with / without, limit))
}

report("insert, one transaction:", \.insert, rowCount, limit: 2.0)
report("update of one column, one transaction:", \.update, rowCount, limit: 2.2)
report("small commit, synchronous full:", \.commit, commitCount, limit: 1.1)
print(String(format: "clocks: %.1f bytes a row, limit 60", captured.clockBytes))

@MainActor func reportApplying(
    _ name: String, _ times: ApplyFigures.Times, limit: Double
) {
    let unit = 1e6 / Double(ApplyFigures.rowCount)
    print(
        name,
        String(
            format: "plain %.2f µs, applied %.2f µs: %.2f ×, limit %.1f", times.plain * unit,
            times.applied * unit, times.applied / times.plain, limit))
}

reportApplying("new rows, empty table, 1,000 a transaction:", applying.firstInserts, limit: 1.8)
reportApplying("updates, 1,000 a transaction:", applying.updates, limit: 2.3)
reportApplying("new rows beside 100,000, 1,000 a transaction:", applying.laterInserts, limit: 1.8)
