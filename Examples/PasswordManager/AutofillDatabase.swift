import Foundation
import SecureStorage
import Vaults

/// The vault's table.
///
/// The file is encrypted with the device's key, so all columns are at L1 at least.
final class AutofillDatabase: VaultDatabaseProvider, @unchecked Sendable {
    static let table = "website_credentials"
    static let passwordColumn = "password"

    static func file(in directory: URL) -> URL {
        directory.appendingPathComponent("passwords.db")
    }

    init(file: URL, key: Data) throws {
        try super.init(file: file, key: key, writerType: .pool) { migrations in
            migrations.add(
                "website credentials",
                sql: """
                    CREATE TABLE website_credentials (
                        id INTEGER PRIMARY KEY, domain TEXT NOT NULL, username TEXT NOT NULL,
                        title TEXT NOT NULL, password BLOB, UNIQUE (domain, username))
                    """)
        }
    }

    /// Returns the row of an account, and creates it if it does not exist.
    func upsert(_ account: WebsiteAccount, in db: SecureDatabaseStore) throws -> Int64 {
        try db.executeUpdate(
            """
            INSERT INTO website_credentials (domain, username, title) VALUES (?, ?, ?)
            ON CONFLICT (domain, username) DO UPDATE SET title = excluded.title
            """, values: [account.domain, account.username, account.title])
        guard
            let id = try db.int64(
                forQuery: "SELECT id FROM website_credentials WHERE domain = ? AND username = ?",
                values: [account.domain, account.username])
        else { throw SecureVaultError.encodingFailed }
        return id
    }

    func setPassword(_ sealed: Data, ofRow id: Int64, in db: SecureDatabaseStore) throws {
        try db.executeUpdate(
            "UPDATE website_credentials SET password = ? WHERE id = ?", values: [sealed, id])
    }

    /// Returns the accounts of a domain and its subdomains, with their sealed passwords; all
    /// accounts for nil.
    func rows(domain: String?) throws -> [(account: WebsiteAccount, sealed: Data?)] {
        try db.read { db in
            let rs = try db.executeQuery(
                """
                SELECT id, domain, username, title, password FROM website_credentials
                WHERE ?1 IS NULL OR domain = ?1 OR substr(domain, -length(?1) - 1) = '.' || ?1
                ORDER BY domain, username
                """, values: [domain])
            var rows: [(account: WebsiteAccount, sealed: Data?)] = []
            while try rs.next() {
                let account = WebsiteAccount(
                    id: rs.int64(forColumnName: "id"),
                    domain: rs.string(forColumnName: "domain") ?? "",
                    username: rs.string(forColumnName: "username") ?? "",
                    title: rs.string(forColumnName: "title") ?? "")
                rows.append((account, rs.data(forColumnName: "password")))
            }
            return rows
        }
    }
}
