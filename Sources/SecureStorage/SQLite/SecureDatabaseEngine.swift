/// The SQLCipher library that the process is linked with: its versions, build options and known
/// weaknesses.
///
/// ```swift
/// let engine = try SecureDatabaseStore.engine
/// for weakness in engine.weaknesses where !weakness.isAvoided { print(weakness) }
/// ```
public struct SecureDatabaseEngine: Sendable, Hashable {
    /// SQLite's version, for example `3.46.1`.
    public let sqliteVersion: String
    /// SQLCipher's version, for example `4.6.1 community`.
    public let cipherVersion: String
    /// The cryptographic library that SQLCipher uses, for example `openssl`.
    public let provider: String
    /// The version of that library, for example `OpenSSL 3.0.17 1 Jul 2025`; nil when the engine
    /// does not report it.
    public let providerVersion: String?
    /// The build options, for example `ENABLE_FTS5` and `THREADSAFE=2`, in alphabetical order.
    ///
    /// The corresponding statement is
    /// [`PRAGMA compile_options`](https://sqlite.org/pragma.html#pragma_compile_options).
    public let options: [String]
    /// Whether the engine overwrites the memory that it frees, so that no row of a closed database
    /// remains in it.
    ///
    /// False if other code of the process used SQLite before this library, which sets this up at
    /// its first use: use this property, or open a database, before.
    public let clearsFreedMemory: Bool
    /// The known weaknesses of this version, oldest first.
    ///
    /// Determined from SQLite's version and the build options: a fix that a distribution backports
    /// without changing the version, as Debian does, is not detected.
    public let weaknesses: [Weakness]

    /// A defect of the engine that is fixed in a newer version.
    public struct Weakness: Sendable, Hashable, CustomStringConvertible {
        /// The CVE number, or SQLite's name for the defect.
        public let name: String
        /// The possible effect and its precondition.
        public let summary: String
        /// The first SQLite version without the defect, for example `3.50.2`.
        public let fixedIn: String
        /// Whether this library works around the defect, so that its users are not affected.
        public let isAvoided: Bool

        /// The name and the version that fixes the defect.
        public var description: String { "\(name) (fixed in SQLite \(fixedIn))" }
    }

    /// Returns whether the engine was built with an option, for example `ENABLE_FTS5`.
    ///
    /// - Parameter option: A name without `SQLITE_`, with its value if it has one.
    /// - Returns: true for `THREADSAFE=2`, false for `THREADSAFE` alone.
    public func hasOption(_ option: String) -> Bool { options.contains(option) }
}

extension SecureDatabaseEngine.Weakness {
    /// The known weaknesses of the engine versions that this package is built with.
    private static let known: [(weakness: Self, option: String?)] = [
        (
            Self(
                name: "CVE-2025-6965",
                summary:
                    "a SELECT with more aggregate functions than columns writes out of bounds; "
                    + "requires attacker-controlled SQL",
                fixedIn: "3.50.2", isAvoided: false), nil
        ),
        (
            Self(
                name: "WAL-reset bug",
                summary: "two connections that write and checkpoint at the same time can damage "
                    + "the file; this library runs checkpoints under the writer lock",
                fixedIn: "3.51.3", isAvoided: true), nil
        ),
        (
            Self(
                name: "CVE-2026-11822",
                summary:
                    "a full-text search writes out of bounds; requires an attacker-supplied file",
                fixedIn: "3.53.3", isAvoided: false), "ENABLE_FTS5"
        ),
        (
            Self(
                name: "CVE-2026-11824",
                summary:
                    "a full-text search writes out of bounds; requires an attacker-supplied file",
                fixedIn: "3.53.3", isAvoided: false), "ENABLE_FTS5"
        ),
    ]

    /// Returns the weaknesses of an engine with this version and these options.
    static func of(sqlite version: String, options: [String]) -> [Self] {
        known.filter { entry in
            Version(version) < Version(entry.weakness.fixedIn)
                && entry.option.map { options.contains($0) } != false
        }.map(\.weakness)
    }

    /// The components of a version, compared in order.
    private struct Version: Comparable {
        let numbers: [Int]

        init(_ text: String) {
            numbers = text.split(separator: ".").map { Int($0.prefix { $0.isNumber }) ?? 0 }
        }

        static func < (left: Version, right: Version) -> Bool {
            left.numbers.lexicographicallyPrecedes(right.numbers)
        }
    }
}
