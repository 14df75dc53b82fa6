import Foundation
import SecureStorage

// Workloads that judge a sound file: after a failing call, none may say that it is damaged.

extension Workload {
    /// A finding that is not true of the file.
    private struct Untrue: Error, CustomStringConvertible {
        let description: String
        init(_ finding: some CustomStringConvertible) { description = "untrue: \(finding)" }
    }

    private static func judging(
        _ name: String, _ configure: @escaping Place.Configure, leavingLog: Bool = false
    ) -> Workload {
        Workload(
            name: name,
            prepare: { place in
                try place.make(rows: Array(1...40), configure)
                guard leavingLog else { return }
                // A copy of a file in use, as a crash leaves it.
                let db = place.store("test.db", configure)
                try db.open(with: Place.key)
                for row in 41...60 { try db.insert(row) }
                for suffix in ["", "-wal"] {
                    try FileManager.default.copyItem(
                        atPath: place.path("test.db" + suffix), toPath: place.path("x" + suffix))
                }
                db.close()
                for suffix in ["", "-wal"] {
                    try? FileManager.default.removeItem(atPath: place.path("test.db" + suffix))
                    try FileManager.default.moveItem(
                        atPath: place.path("x" + suffix), toPath: place.path("test.db" + suffix))
                }
            },
            run: { place, log in
                let cipher = place.configuration(configure).cipher
                log.attempt("diagnose") {
                    let diagnosis = try SecureDatabaseStore.diagnose(
                        at: place.url("test.db"), key: Place.databaseKey, cipher: cipher)
                    if diagnosis.finding != .ok { throw Untrue(diagnosis) }
                }
                log.attempt("salvage") {
                    let report = try SecureDatabaseStore.salvage(
                        at: place.url("test.db"), key: Place.databaseKey, cipher: cipher,
                        to: place.url("saved.db"))
                    if !report.isWhole { throw Untrue(report) }
                }
                let db = place.store("test.db", configure)
                log.attempt("open") { try db.open(with: Place.key) }
                guard db.isOpen() else { return }
                log.attempt("read") { _ = try db.ints("SELECT id FROM t WHERE length(x) = 3000") }
                log.attempt("verify") {
                    let report = try db.verifyIntegrity()
                    if !report.isSound { throw Untrue(report) }
                }
                log.attempt("backup") { try db.backup(to: place.url("copy.db")) }
                log.attempt("export") { try db.exportPlaintext(to: place.url("plain.db")) }
                db.close()
            },
            check: { place, record in
                place.problems(stored: Set(1...(leavingLog ? 60 : 40)), configure)
            })
    }

    static var reading: [Workload] {
        [
            judging("judge a file", { _ in }),
            judging("judge a file and its log", { _ in }, leavingLog: true),
            judging("judge a file with a header", header),
            judging("judge a file without a log", delete),
        ]
    }
}
