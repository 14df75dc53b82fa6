/// What went wrong, for programs: a name that stays the same, and an exit status of its own.
struct FailureKind: Hashable, Sendable {
    /// The `code` of an error in JSON.
    let name: String
    let status: Int32
    /// One line for the table of the help.
    let meaning: String

    private init(_ status: Int32, _ name: String, _ meaning: String) {
        self.name = name
        self.status = status
        self.meaning = meaning
    }

    static let failed = FailureKind(1, "failed", "anything that has no status of its own")
    static let usage = FailureKind(2, "usage", "wrong usage")
    static let keyChangeUnknown = FailureKind(
        3, "key-change-unknown", "either key may be the file's: keep both")
    /// Not 1: a service manager that started the mirror again would take over from the other one.
    static let otherMirror = FailureKind(
        4, "other-mirror", "another mirror has taken over the name")
    static let wrongKey = FailureKind(
        5, "wrong-key", "the key does not open the file, or is not the mirror's")
    static let notEncrypted = FailureKind(
        6, "not-encrypted", "a plain database, or no database at all")
    static let damaged = FailureKind(7, "damaged", "the file, its log or a mirror is damaged")
    static let sql = FailureKind(8, "sql", "SQLite refused the SQL or a value")
    static let busy = FailureKind(9, "busy", "another program uses the file; try again")
    static let noFile = FailureKind(10, "no-file", "there is no such file or directory")
    static let notFound = FailureKind(
        11, "not-found", "no such table, key-value store, key or mirror")
    static let exists = FailureKind(12, "exists", "the new file exists; --force replaces it")
    static let otherFormat = FailureKind(
        13, "other-format", "an older format, or other cipher settings")
    static let access = FailureKind(14, "access", "permissions, or a failing or full disk")
    static let store = FailureKind(15, "store", "the store of a mirror refused or failed")
    static let data = FailureKind(16, "data", "the input is not in its format")
    static let noKey = FailureKind(17, "no-key", "the key cannot be read or used")

    /// Those with a constant status, by status.
    static let all: [FailureKind] = [
        failed, usage, keyChangeUnknown, otherMirror, wrongKey, notEncrypted, damaged, sql, busy,
        noFile, notFound, exists, otherFormat, access, store, data, noKey,
    ]

    /// The end by a signal, with the status that a shell shows for one.
    static func signal(_ number: Int32) -> FailureKind {
        FailureKind(128 + number, "signal", "signal \(number)")
    }

    /// The table of the help.
    static var help: String {
        let lines =
            [("0", "", "done")] + all.map { (String($0.status), $0.name, $0.meaning) }
            + [("128+n", "signal", "signal n")]
        return lines.map { status, name, meaning in
            "  " + status.padded(to: 7) + name.padded(to: 20) + meaning
        }.joined(separator: "\n")
    }
}

extension String {
    fileprivate func padded(to width: Int) -> String {
        self + String(repeating: " ", count: max(0, width - count))
    }
}
