import Foundation
import SecureStorage

// Workloads that make, replace, move and remove whole files.

extension Workload {
    /// Returns what is wrong with a copy: it must be complete after success, and unchanged after an
    /// error.
    ///
    /// A killed step may have completed.
    private static func copyProblems(
        _ place: Place, _ record: Record, _ step: String, _ name: String, rows: Set<Int>,
        before: Set<Int>?, _ configure: Place.Configure = { _ in }
    ) -> [String] {
        func holds(_ rows: Set<Int>?) -> [String] {
            guard let rows else { return place.exists(name) ? ["\(name) is there"] : [] }
            return place.problems(name, stored: rows, configure)
        }
        if record.done.contains(step) { return holds(rows) }
        let problems = holds(before)
        if record.errors[step] != nil {
            return problems.map { "untrue after \(record.errors[step] ?? ""): \($0)" }
        }
        return problems.isEmpty || holds(rows).isEmpty ? [] : problems
    }

    private static var backup: Workload {
        Workload(
            name: "backup and vacuum",
            prepare: { place in
                try place.make(rows: [1, 2, 3])
                try place.make("old.db", rows: [100])
            },
            run: { place, log in
                let db = place.store()
                log.attempt("open") { try db.open(with: Place.key) }
                guard db.isOpen() else { return }
                log.attempt("backup") { try db.backup(to: place.url("copy.db")) }
                log.attempt("replace") { try db.backup(to: place.url("old.db"), replacing: true) }
                log.attempt("compact") { try db.vacuum(into: place.url("compact.db")) }
                log.attempt("vacuum") { try db.vacuum() }
                db.close()
            },
            check: { place, record in
                place.problems(record, prepared: [1, 2, 3])
                    + copyProblems(
                        place, record, "backup", "copy.db", rows: [1, 2, 3], before: nil)
                    + copyProblems(
                        place, record, "replace", "old.db", rows: [1, 2, 3], before: [100])
                    + copyProblems(
                        place, record, "compact", "compact.db", rows: [1, 2, 3], before: nil)
            })
    }

    private static var export: Workload {
        Workload(
            name: "export",
            prepare: { place in
                try place.make(rows: [1, 2, 3])
                try place.make("header.db", rows: [100], header)
            },
            run: { place, log in
                let db = place.store()
                log.attempt("open") { try db.open(with: Place.key) }
                guard db.isOpen() else { return }
                log.attempt("plain") { _ = try db.exportPlaintext(to: place.url("plain.db")) }
                log.attempt("header") {
                    _ = try db.export(
                        to: place.url("header.db"), key: Place.databaseKey,
                        cipher: place.configuration(header).cipher, replacing: true)
                }
                db.close()
            },
            check: { place, record in
                var problems =
                    place.problems(record, prepared: [1, 2, 3])
                    + copyProblems(
                        place, record, "header", "header.db", rows: [1, 2, 3], before: [100], header
                    )
                if record.errors["plain"] != nil, place.exists("plain.db") {
                    problems.append(
                        "untrue after \(record.errors["plain"] ?? ""): plain.db is there")
                }
                if record.done.contains("plain"), !place.exists("plain.db") {
                    problems.append("plain.db is gone")
                }
                if place.exists("plain.db") {
                    try SecureDatabaseStore.importPlaintext(
                        from: place.url("plain.db"), to: place.url("back.db"),
                        key: Place.databaseKey)
                    problems += place.problems("back.db", stored: [1, 2, 3])
                }
                // The next attempt removes what is left.
                let db = place.store()
                try db.open(with: Place.key)
                try db.exportPlaintext(to: place.url("plain.db"), replacing: true)
                try db.export(
                    to: place.url("header.db"), key: Place.databaseKey,
                    cipher: place.configuration(header).cipher, replacing: true)
                db.close()
                problems += place.problems("header.db", stored: [1, 2, 3], header)
                let drafts = place.names.filter { $0.hasSuffix(".draft") }
                if !drafts.isEmpty { problems.append("drafts stay: \(drafts)") }
                return problems
            })
    }

    private static var importing: Workload {
        Workload(
            name: "import of a plain file",
            prepare: { place in
                try place.make("origin.db", rows: [1, 2, 3])
                let db = place.store("origin.db")
                try db.open(with: Place.key)
                try db.exportPlaintext(to: place.url("plain.db"))
                db.close()
            },
            run: { place, log in
                log.attempt("import") {
                    _ = try SecureDatabaseStore.importPlaintext(
                        from: place.url("plain.db"), to: place.url("test.db"),
                        key: Place.databaseKey,
                        cipher: place.configuration(header).cipher)
                }
            },
            check: { place, record in
                var problems = copyProblems(
                    place, record, "import", "test.db", rows: [1, 2, 3], before: nil, header)
                _ = try SecureDatabaseStore.importPlaintext(
                    from: place.url("plain.db"), to: place.url("test.db"), key: Place.databaseKey,
                    cipher: place.configuration(header).cipher, replacing: true)
                problems += place.problems("test.db", stored: [1, 2, 3], header)
                return problems
            })
    }

    private static func migration(
        _ name: String, from old: @escaping Place.Configure, to new: @escaping Place.Configure
    ) -> Workload {
        func migrate(_ place: Place) throws -> URL? {
            try SecureDatabaseStore.migrate(
                at: place.url("test.db"), key: Place.databaseKey,
                from: place.configuration(old).cipher, to: place.configuration(new).cipher)
        }
        return Workload(
            name: name, prepare: { try $0.make(rows: [1, 2, 3], old) },
            run: { place, log in log.attempt("migrate") { _ = try migrate(place) } },
            check: { place, record in
                var problems: [String] = []
                if record.done.contains("migrate") {
                    problems += place.problems("test.db", stored: [1, 2, 3], new)
                    if !place.exists("test.db.old") { problems.append("the old file is gone") }
                } else if record.errors["migrate"] != nil {
                    problems += place.problems("test.db", stored: [1, 2, 3], old)
                        .map { "untrue after \(record.errors["migrate"] ?? ""): \($0)" }
                } else if !place.problems("test.db", stored: [1, 2, 3], old).isEmpty {
                    problems += place.problems("test.db", stored: [1, 2, 3], new)
                }
                _ = try migrate(place)
                problems += place.problems("test.db", stored: [1, 2, 3], new)
                if place.exists("test.db.old") {
                    problems += place.problems("test.db.old", stored: [1, 2, 3], old)
                }
                return problems
            })
    }

    /// Moves a file, with a log left by a crash if `leftLog` is true.
    private static func moving(
        _ name: String, leftLog: Bool, _ configure: @escaping Place.Configure
    ) -> Workload {
        Workload(
            name: name,
            prepare: { place in
                try place.make("origin.db", rows: [1, 2], configure)
                let db = place.store("origin.db", configure)
                try db.open(with: Place.key)
                try db.insert(3)
                if !leftLog { db.close() }
                for suffix in ["", "-wal", "-salt"] where place.exists("origin.db" + suffix) {
                    try FileManager.default.copyItem(
                        at: place.url("origin.db" + suffix), to: place.url("test.db" + suffix))
                }
                db.close()
                try SecureDatabaseStore.remove(at: place.url("origin.db"))
            },
            run: { place, log in
                log.attempt("move") {
                    try SecureDatabaseStore.move(
                        at: place.url("test.db"), to: place.url("moved.db"))
                }
            },
            check: { place, record in
                var problems: [String] = []
                if record.done.contains("move") {
                    if place.exists("test.db") { problems.append("untrue: test.db is there") }
                } else if place.exists("test.db") {
                    // Not moved, or moved halfway: the next call completes the move.
                    let db = place.store("test.db", configure)
                    let opens = (try? db.open(with: Place.key)) != nil
                    db.close()
                    if opens {
                        problems += place.problems("test.db", stored: [1, 2, 3], configure)
                    }
                    try SecureDatabaseStore.move(
                        at: place.url("test.db"), to: place.url("moved.db"))
                } else if record.errors["move"] != nil {
                    problems.append("untrue: moved after \(record.errors["move"] ?? "")")
                }
                problems += place.problems("moved.db", stored: [1, 2, 3], configure)
                // The old name must be free.
                do {
                    try place.make("test.db", rows: [7], configure)
                    problems += place.problems("test.db", stored: [7], configure)
                } catch {
                    problems.append("blocked: \(error)")
                }
                return problems
            })
    }

    private static var movingBack: Workload {
        Workload(
            name: "move, then use the new name", prepare: { try $0.make(rows: [1, 2, 3], header) },
            run: moving("", leftLog: false, header).run,
            check: { place, record in
                // An app that does not repeat the move must be able to use the new name.
                guard place.exists("test.db") else {
                    return place.problems("moved.db", stored: [1, 2, 3], header)
                }
                var problems = place.problems("test.db", stored: [1, 2, 3], header)
                do {
                    if !place.exists("moved.db") { try place.make("moved.db", rows: [7], header) }
                    problems += place.problems("test.db", stored: [1, 2, 3], header)
                } catch {
                    problems.append("blocked: \(error)")
                }
                return problems
            })
    }

    private static func removal(
        _ name: String, _ configure: @escaping Place.Configure
    ) -> Workload {
        Workload(
            name: name, prepare: moving("", leftLog: true, configure).prepare,
            run: { place, log in
                log.attempt("remove") {
                    _ = try SecureDatabaseStore.remove(at: place.url("test.db"))
                }
            },
            check: { place, record in
                var problems: [String] = []
                if record.done.contains("remove") {
                    let left = place.names.filter { $0.hasPrefix("test.db") }
                    if !left.isEmpty { problems.append("untrue: \(left) stay") }
                } else if place.exists("test.db") {
                    problems += place.problems("test.db", stored: [1, 2, 3], configure)
                }
                _ = try SecureDatabaseStore.remove(at: place.url("test.db"))
                try place.make(rows: [7], configure)
                return problems + place.problems("test.db", stored: [7], configure)
            })
    }

    /// A key that holds the salt restores the salt file.
    private static var salt: Workload {
        Workload(
            name: "salt file",
            prepare: { place in
                try place.make(rows: [1, 2, 3]) {
                    header(&$0)
                    $0.cipher.salt = Data(repeating: 7, count: 16)
                }
            },
            run: { place, log in
                let db = place.store("test.db", header)
                let key = DatabaseKey.raw(
                    SecretBytes(copying: Place.key), salt: Data(repeating: 7, count: 16))
                log.attempt("open") { try db.open(with: key) }
                if db.isOpen() { log.attempt("row 4") { try db.insert(4) } }
                db.close()
                if log.record.done.contains("open") {
                    log.attempt("open by its salt file") { try db.open(with: Place.key) }
                    if db.isOpen() { log.attempt("row 5") { try db.insert(5) } }
                    db.close()
                }
            },
            check: { place, record in
                if record.done.contains("open") {
                    return place.problems(record, prepared: [1, 2, 3], header)
                }
                return place.problems(record, prepared: [1, 2, 3]) {
                    header(&$0)
                    $0.cipher.salt = Data(repeating: 7, count: 16)
                }
            })
    }

    static var files: [Workload] {
        [
            backup, export, importing,
            migration("migrate the page size", from: { $0.cipher.pageSize = 8192 }, to: { _ in }),
            migration("migrate to a header", from: { _ in }, to: header),
            migration("migrate from a header", from: header, to: { _ in }),
            moving("move", leftLog: false, { _ in }),
            moving("move with a log", leftLog: true, { _ in }),
            moving("move with a salt", leftLog: false, header),
            moving("move with log and salt", leftLog: true, header), movingBack,
            removal("remove", { _ in }), removal("remove with a salt", header), salt,
        ]
    }

    static var all: [Workload] { rows + files + reading }
}
