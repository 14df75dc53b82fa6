import Foundation
import SecureStorage

/// The steps in order, each with its time and with the conditions that must hold after it.
struct Demonstration {
    let list: PackageList
    let directory: WorkingDirectory
    let database: PackageDatabase
    let report = Report()
    private var steps = Table(("What was done", .left), ("Time", .right), ("Outcome", .left))
    private var expectations = 0

    /// Runs all steps.
    ///
    /// - Throws: The first error, including an expectation that does not hold.
    static func run(_ options: Options) throws {
        let clock = ContinuousClock()
        let start = clock.now
        let list = try PackageList(for: options)
        let reading = clock.now - start
        let directory = try WorkingDirectory()
        var isKept = false
        defer { if !isKept { directory.remove() } }

        var demonstration = Demonstration(list, in: directory)
        let passphrase = try demonstration.run(afterReadingFor: reading)
        try demonstration.conclude(after: clock.now - start)
        if options.keepsDatabase {
            try demonstration.sayHowToLook(passphrase)
            isKept = true
        }
    }

    private init(_ list: PackageList, in directory: WorkingDirectory) {
        self.list = list
        self.directory = directory
        database = PackageDatabase(at: directory.database)
    }

    /// - Returns: The passphrase that finally opens the database.
    private mutating func run(afterReadingFor reading: Duration) throws -> String {
        try report.write(
            "SecureStorage: an encrypted database of the packages in "
                + "\(Report.printable(list.name))\n")
        let fields = list.packages.reduce(0) { $0 + $1.fields.count }
        note(
            "read the list", reading,
            "\(Units.count(list.packages.count, "package")), \(Units.count(fields, "field")), "
                + Units.bytes(list.data.count)
                + (list.otherStanzas > 0
                    ? "; \(Units.count(list.otherStanzas, "other stanza")) left out" : ""))

        let first = Passphrase.random()
        let second = Passphrase.random()
        try storeAndCompare(with: first)
        try askQuestions()
        try changeKey(from: first, to: second)
        return second
    }

    private mutating func storeAndCompare(with passphrase: String) throws {
        let (database, packages) = (database, list.packages)
        try step("make the database") {
            try database.open(with: passphrase)
        } outcome: {
            "4 tables, one of them a full-text index"
        }
        let threads = 4
        try step("store the packages") {
            try database.store(packages, threads: threads, batchSize: 25)
        } outcome: {
            "\(threads) threads, one queue, \(Units.count($0, "transaction"))"
        }

        let expected = PackageDatabase.RowCounts(
            packages: packages.count,
            fields: packages.reduce(0) { $0 + $1.fields.count },
            dependencies: packages.reduce(0) { $0 + $1.dependencies.count },
            indexed: packages.count)
        let counts = try database.rowCounts()
        try expect(counts == expected, "\(counts) is what the list holds, \(expected)")
        let found = try step("read every field back") {
            try database.packages()
        } outcome: { _ in
            "all as in the list"
        }
        // The threads stored them in an arbitrary order.
        try expect(Bag(found) == Bag(packages), "what is read back is what was stored")

        var table = Table(("Table", .left), ("Rows", .right), ("Each row", .left))
        table.add("package", Units.count(counts.packages), "a package")
        table.add("field", Units.count(counts.fields), "a field of a package, as in the list")
        table.add("dependency", Units.count(counts.dependencies), "a package, and one it needs")
        table.add("package_text", Units.count(counts.indexed), "a package in the full-text index")
        try report.heading("Stored")
        try report.table(table)
    }

    private func conclude(after duration: Duration) throws {
        try report.heading("Steps")
        try report.table(steps)
        try report.write(
            "\nAll \(expectations) expectations hold. It took \(Units.time(duration)).\n")
    }

    private func sayHowToLook(_ passphrase: String) throws {
        try report.write(
            """

            The database is kept. To look into it, and to remove it:
              sqlcipher -cmd "PRAGMA key = '\(passphrase)'" \(directory.database.shellQuoted)
              rm -r \(directory.url.shellQuoted)

            """)
    }

    // MARK: - Steps

    /// Performs a step and records its duration.
    @discardableResult
    mutating func step<T>(
        _ name: String, _ work: () throws -> T, outcome: (T) -> String
    ) throws -> T {
        let clock = ContinuousClock()
        let start = clock.now
        let result = try work()
        note(name, clock.now - start, outcome(result))
        return result
    }

    private mutating func note(_ name: String, _ duration: Duration, _ outcome: String) {
        steps.add(name, Units.time(duration), outcome)
    }

    mutating func expect(_ holds: Bool, _ expectation: String) throws {
        guard holds else { throw Failure("this does not hold: \(expectation)") }
        expectations += 1
    }
}

/// Elements with their number of occurrences, regardless of order.
private struct Bag<Element: Hashable>: Equatable {
    private var counts: [Element: Int] = [:]

    init(_ elements: [Element]) {
        for element in elements { counts[element, default: 0] += 1 }
    }
}

extension URL {
    /// The path as one word of a POSIX shell.
    fileprivate var shellQuoted: String {
        "'" + path.replacingOccurrences(of: "'", with: "'\\''") + "'"
    }
}
