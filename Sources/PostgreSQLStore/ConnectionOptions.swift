#if PostgreSQL
    internal import CPostgreSQL
    internal import Foundation
    internal import ObjectStores

    /// The options of a connection string, and what this module adds where it is silent.
    ///
    /// Prints without any of them: one is the password.
    struct ConnectionOptions: Sendable, CustomStringConvertible, CustomReflectable {
        private(set) var values: [String: String] = [:]

        var description: String { "ConnectionOptions" }
        var customMirror: Mirror { Mirror(self, children: []) }

        /// Reads a connection string with `PQconninfoParse`.
        ///
        /// - Throws: ``/ObjectStores/StoreError/failed(code:message:isTransient:)`` with 08001.
        init(_ string: String, patience: Duration, environment: [String: String]) throws {
            // libpq's own message quotes the string.
            var message: UnsafeMutablePointer<CChar>?
            let parsed = string.utf8.contains(0) ? nil : PQconninfoParse(string, &message)
            PQfreemem(message)
            guard let parsed else {
                throw StoreError.failed(
                    code: "08001",
                    message:
                        "the connection string cannot be parsed; write key=value pairs, or a URI "
                        + "postgresql://… with other characters percent-encoded",
                    isTransient: false)
            }
            defer { PQconninfoFree(parsed) }
            var option = parsed
            while let keyword = option.pointee.keyword {
                if let value = option.pointee.val {
                    values[String(cString: keyword)] = String(cString: value)
                }
                option += 1
            }
            addDefaults(patience, environment)
        }

        private mutating func addDefaults(_ patience: Duration, _ environment: [String: String]) {
            func add(_ keyword: String, _ value: String) {
                if values[keyword] == nil { values[keyword] = value }
            }
            if values["sslmode"] == nil, !Self.isLocal(values, environment) {
                values["sslmode"] = "verify-full"
                // Where a mode is named, libpq's own place of certificates may be meant.
                if environment["PGSSLROOTCERT"] == nil, PQlibVersion() >= 160_000 {
                    add("sslrootcert", "system")
                }
            }
            add("fallback_application_name", "SecureStorage")
            values["client_encoding"] = "UTF8"
            // A peer that vanished is noticed by the system: these are seconds, and milliseconds.
            add("keepalives_idle", "10")
            add("keepalives_interval", "5")
            add("keepalives_count", "3")
            add("tcp_user_timeout", String(max(.seconds(5), patience).wholeMilliseconds))
        }

        /// Whether all servers are on this machine: Unix sockets and loopback.
        ///
        /// A service's file, which libpq reads later, may name any server.
        private static func isLocal(
            _ values: [String: String], _ environment: [String: String]
        ) -> Bool {
            if values["service"] ?? environment["PGSERVICE"] != nil { return false }
            // An address is where libpq connects to; the host is then only a name to check.
            let hosts =
                values["hostaddr"] ?? environment["PGHOSTADDR"] ?? values["host"]
                ?? environment["PGHOST"] ?? ""
            return hosts.split(separator: ",", omittingEmptySubsequences: false).allSatisfy(isLocal)
        }

        private static func isLocal(_ host: Substring) -> Bool {
            if host.isEmpty || host.hasPrefix("/") || host.hasPrefix("@") { return true }
            // A name such as 127.example.com is not an address.
            var address = in_addr()
            if inet_pton(AF_INET, String(host), &address) == 1 {
                return UInt32(bigEndian: address.s_addr) >> 24 == 127
            }
            return ["localhost", "::1"].contains(host.lowercased())
        }

        /// Returns a text without the password.
        func redacted(_ text: String) -> String {
            guard let password = values["password"], !password.isEmpty else { return text }
            return text.replacingOccurrences(of: password, with: "…")
        }
    }
#endif
