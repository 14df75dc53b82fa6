/// The SQLCipher that the process is linked with: its versions, how it was built, what is wrong
/// with it.
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
    /// The cryptographic library behind SQLCipher, for example `openssl`.
    public let provider: String
    /// The version of that library, for example `OpenSSL 3.0.17 1 Jul 2025`; nil when the engine
    /// does not say.
    public let providerVersion: String?
    /// How it was built, for example `ENABLE_FTS5` and `THREADSAFE=2`, in the order of the
    /// alphabet.
    ///
    /// The corresponding statement is
    /// [`PRAGMA compile_options`](https://sqlite.org/pragma.html#pragma_compile_options).
    public let options: [String]
    /// The known weaknesses of this version, the oldest first.
    ///
    /// Told by SQLite's version and the options: a distribution that has mended one without a new
    /// version, as Debian does, is not seen to have done so.
    public let weaknesses: [Weakness]

    /// A fault of the engine that a newer version does not have.
    public struct Weakness: Sendable, Hashable, CustomStringConvertible {
        /// The number in the list of Common Vulnerabilities and Exposures, or SQLite's name for it.
        public let name: String
        /// What can happen, and what it takes.
        public let summary: String
        /// The first version of SQLite without it, for example `3.50.2`.
        public let fixedIn: String
        /// Whether this library goes around it, so that its users do not meet it.
        public let isAvoided: Bool

        /// The name, and the version without it.
        public var description: String { "\(name) (fixed in SQLite \(fixedIn))" }
    }

    /// Whether it was built with an option, for example `ENABLE_FTS5`.
    ///
    /// - Parameter option: A name without `SQLITE_`, with its value where it has one.
    /// - Returns: true for `THREADSAFE=2`, false for `THREADSAFE` alone.
    public func hasOption(_ option: String) -> Bool { options.contains(option) }
}

extension SecureDatabaseEngine.Weakness {
    /// What is known of the versions that this package is built with.
    private static let known: [(weakness: Self, option: String?)] = [
        (
            Self(
                name: "CVE-2025-6965",
                summary:
                    "a SELECT with more aggregate functions than columns writes out of bounds; "
                    + "it takes SQL of an attacker",
                fixedIn: "3.50.2", isAvoided: false), nil
        ),
        (
            Self(
                name: "WAL-reset bug",
                summary: "two connections that write and checkpoint in the same instant can damage "
                    + "the file; checkpoints are taken under the writer lock here",
                fixedIn: "3.51.3", isAvoided: true), nil
        ),
        (
            Self(
                name: "CVE-2026-11822",
                summary: "a full-text search writes out of bounds; it takes a file of an attacker",
                fixedIn: "3.53.3", isAvoided: false), "ENABLE_FTS5"
        ),
        (
            Self(
                name: "CVE-2026-11824",
                summary: "a full-text search writes out of bounds; it takes a file of an attacker",
                fixedIn: "3.53.3", isAvoided: false), "ENABLE_FTS5"
        ),
    ]

    /// Those of an engine of this version with these options.
    static func of(sqlite version: String, options: [String]) -> [Self] {
        known.filter { entry in
            Version(version) < Version(entry.weakness.fixedIn)
                && entry.option.map { options.contains($0) } != false
        }.map(\.weakness)
    }

    /// The numbers of a version, compared one by one.
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
