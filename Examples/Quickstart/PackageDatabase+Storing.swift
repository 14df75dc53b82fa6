import Foundation
import SecureStorage

extension PackageDatabase {
    /// Stores the packages from several threads in parallel.
    ///
    /// The threads take turns at the queue, one transaction each time. A batch is stored completely
    /// or not at all, and a transaction of many rows waits for the disk once instead of once per
    /// row.
    ///
    /// - Returns: The number of transactions.
    func store(_ packages: [DebianPackage], threads: Int, batchSize: Int) throws -> Int {
        let batches = stride(from: 0, to: packages.count, by: batchSize).map {
            packages[$0..<min($0 + batchSize, packages.count)]
        }
        try onThreads(threads) { thread in
            for index in stride(from: thread, to: batches.count, by: threads) {
                // Do work that needs no database before the turn, not during it.
                let batch = batches[index].map { ($0, $0.dependencies) }
                try queue.inExclusiveTransaction { db in
                    for (package, dependencies) in batch {
                        try Self.insert(package, dependencies, into: db)
                    }
                    return false  // true would roll back, and so does an error
                }
            }
        }
        return batches.count
    }

    private static func insert(
        _ package: DebianPackage, _ dependencies: [String], into db: SecureDatabaseStore
    ) throws {
        // Values are always bound, never put into the SQL. No text can thus be interpreted as SQL,
        // and one prepared statement, which the store caches, serves every row.
        try db.executeUpdate(
            """
            INSERT INTO package (name, version, architecture, section, priority, maintainer,
                                 installed_size, summary, description)
            VALUES (:name, :version, :architecture, :section, :priority, :maintainer,
                    :installedSize, :summary, :description)
            """,
            parameterDictionary: [
                "name": package.name, "version": package.version,
                "architecture": package.architecture, "section": package.section,
                "priority": package.priority, "maintainer": package.maintainer,
                "installedSize": package.installedSize, "summary": package.summary,
                "description": package.description,
            ])
        // No other insert can come between: the queue is held until the block ends.
        let id = try db.lastInsertRowId()
        try db.executeUpdate(
            "INSERT INTO package_text (rowid, name, description) VALUES (?, ?, ?)",
            values: [id, package.name, package.description])
        for (position, field) in package.fields.enumerated() {
            try db.executeUpdate(
                "INSERT INTO field (package_id, position, field, value) VALUES (?, ?, ?, ?)",
                values: [id, position, field.name, field.value])
        }
        for name in dependencies {
            try db.executeUpdate(
                "INSERT INTO dependency (package_id, on_name) VALUES (?, ?)", values: [id, name])
        }
    }
}

/// Runs `work` on `count` threads in parallel, waits for all of them, and throws the first error.
private func onThreads(
    _ count: Int, _ work: @escaping @Sendable (_ thread: Int) throws -> Void
) throws {
    let group = DispatchGroup()
    let failure = FirstError()
    for thread in 0..<count {
        group.enter()
        Thread.detachNewThread {
            defer { group.leave() }
            do { try work(thread) } catch { failure.note(error) }
        }
    }
    group.wait()
    try failure.rethrow()
}

/// The first error of several threads.
private final class FirstError: @unchecked Sendable {
    // @unchecked: `error` is accessed only under `lock`.
    private let lock = NSLock()
    private var error: (any Error)?

    func note(_ error: any Error) {
        lock.withLock { self.error = self.error ?? error }
    }

    func rethrow() throws {
        if let error = lock.withLock({ error }) { throw error }
    }
}
