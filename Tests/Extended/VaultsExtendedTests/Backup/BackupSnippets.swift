import Foundation
import SecureStorage
import Testing
import TestSupport
import Vaults
@testable import VaultsTests

/// The snippets of `Docs/Backups.md`, compiled and run; `DocumentationTests` compares the text.
struct BackupSnippets {
    @Test func `making, listing and restoring a backup`() throws {
        let vault = try TestVault(rows: 3)
        let other = try TestVault(emptyWith: InMemoryKeyStore())
        let (backupURL, databaseURL) = (vault.backup, other.url)
        let (dataKey, keyStore) = (vault.data, other.keyStore)
        func show(_: String) {}
        var typed = SecretBytes(utf8: "")
        try vault.withQueue { queue throws -> Void in
            // begin
            let code = RecoveryCode.random()
            show(code.formattedText)  // XXXXXXX-XXXXXXX-XXXXXXX, for someone to write down
            try VaultBackup.make(
                of: queue, at: backupURL, unlockedBy: [code], dataKeys: [.key(dataKey)],
                label: VaultBackupLabel(deviceName: "Anna's laptop"), replacing: true)
            // end
            typed = code.formatted
        }
        // begin
        let file = try VaultBackup.metadata(at: backupURL)
        print(file.claimed.createdAt, file.claimed.label.deviceName)
        // end
        // begin
        let names = VaultKeyNames(database: "vault database", keyEncryption: "vault keys")
        try VaultBackup.restore(
            from: backupURL, to: databaseURL, unlockedBy: RecoveryCode(typed),
            keyStore: keyStore, keyNames: names
        ) { db, keySets in
            for keys in keySets {
                try db.executeUpdate(
                    "INSERT OR REPLACE INTO wrapped (name, keys) VALUES (?, ?)", keys.dataKeyName,
                    keys.bytes)
            }
        }
        // end
        // begin
        try VaultBackup.finishInterruptedRestore(
            at: databaseURL, keyStore: keyStore, keyNames: names)
        let db = SecureDatabaseStore(url: databaseURL)
        try db.open(with: .raw(keyStore.read(names.database)))
        // end
        try check(db.int(forQuery: "SELECT count(*) FROM wrapped"), equals: 1)
        db.close()
    }
}
