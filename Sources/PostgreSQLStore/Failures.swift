#if PostgreSQL
    internal import Foundation
    internal import ObjectStores

    /// What libpq and the server say about failures, as ``/ObjectStores/StoreError``.
    enum Failures {
        /// The code of a lost or impossible connection, for failures that libpq gives no code.
        static let connectionCode = "08006"

        /// Returns the failure of a statement.
        ///
        /// - Parameters:
        ///   - code: The SQLSTATE; nil if the connection broke.
        ///   - message: The primary message only: details may contain values.
        /// - Returns: The error, with what to do about it.
        static func statement(_ code: String?, _ message: String) -> StoreError {
            let code = code ?? connectionCode
            return .failed(
                code: code, message: firstLine(message) + advice(code),
                isTransient: isTransient(code))
        }

        /// The failure to connect, from a verbose message: only there libpq shows the SQLSTATE.
        static func connection(_ message: String, needsPassword: Bool) -> StoreError {
            if needsPassword {
                return .failed(
                    code: "28P01", message: "the server asks for a password" + advice("28P01"),
                    isTransient: false)
            }
            let text = firstLine(message)
            if let match = text.firstMatch(of: #/:  ([0-9A-Z]{5}): /#) {
                let code = String(match.1)
                let plain = text.replacing(match.0, with: ": ", maxReplacements: 1)
                return .failed(
                    code: code, message: plain + advice(code), isTransient: isTransient(code))
            }
            // Without a code, libpq itself has failed. What it says of certificates is about the
            // setup; all else may be the network.
            let isSetup = ["certificate", "does not support SSL", "sslmode", "sslrootcert"]
                .contains { text.contains($0) }
            return .failed(
                code: isSetup ? "08001" : connectionCode,
                message: text + (isSetup ? advice("08001") : ""), isTransient: !isSetup)
        }

        /// A server that neither sends nor takes anything.
        static let silence = StoreError.failed(
            code: connectionCode, message: "the server does not answer", isTransient: true)

        static let closed = StoreError.failed(
            code: "08003", message: "the store is closed", isTransient: false)

        /// A role without membership in the group, which would otherwise seem to be empty.
        static func noMember(_ group: String) -> StoreError {
            .failed(
                code: "42501",
                message: "the role is not a member of the group \"\(group)\"" + advice("42501"),
                isTransient: false)
        }

        static func system(_ action: String, _ code: Int32) -> StoreError {
            .failed(
                code: "errno \(code)",
                message: "cannot \(action): \(String(cString: strerror(code)))",
                isTransient: true)
        }

        /// Whether the same statement may succeed later.
        static func isTransient(_ code: String) -> Bool {
            // Connections, resources, the operating system, and an operator's intervention.
            if ["08", "53", "57", "58"].contains(code.prefix(2)) {
                // The database was dropped; functions or files that are missing.
                return !["08001", "08004", "57P04", "58P01", "58P02", "53400"].contains(code)
            }
            // Serialisation, deadlocks, locks, a server that has become a standby, and transactions
            // that a pool of connections ended.
            return [
                "40000", "40001", "40003", "40P01", "55006", "55P03", "25006", "25P03", "25P04",
            ].contains(code)
        }

        /// What to do, for failures of the setup.
        private static func advice(_ code: String) -> String {
            switch code {
            case "28P01", "28000":
                "; check user and password of the connection string, and the server's pg_hba.conf"
            case "3D000": "; create the database, or correct dbname in the connection string"
            case "42P01", "42703":
                "; install the tables with PostgreSQLObjectStore.installSchema or schema.sql"
            case "42501":
                "; as the tables' owner, GRANT securestorage_client TO the role, and INSERT the "
                    + "group and the role INTO securestorage_member"
            case "08001":
                "; see sslmode and sslrootcert in the documentation of PostgreSQLObjectStore"
            case "23514": "; an object has at most 64 MiB, a mark at most 1 KiB"
            default: ""
            }
        }

        /// The first line: others have the place in the server's source, and hints in any language.
        private static func firstLine(_ message: String) -> String {
            message.split(whereSeparator: \.isNewline).first.map(String.init)
                ?? "the connection broke"
        }
    }
#endif
