import Foundation
import SecureKeys
import SecureStorage
import TestSupport
import Testing

@testable import Vaults

/// A vault that gets another key.
struct DataVaultRekeyTests {
    private static let password = "P4sSw0rD1"
    private let home: VaultHome
    private let container: DataVaultContainer
    private let vault: DataVault

    init() throws {
        home = try VaultHome()
        container = try home.container()
        vault = try container.create(id: "a", password: Self.password)
        try vault.setString("name", value: "value")
    }

    private func key() throws -> DataEncryptionKey {
        try DataEncryptionKey(
            name: VaultValues.keyName, bytes: try require(vault.openedNow).key.material.secret())
    }

    private func opens(_ key: DataEncryptionKey) throws -> Bool {
        let record = try container.records.readyRecord(vault.place)
        let path = vault.place.databasePath(record.incarnation)
        return (try? VaultValues.requireKey(key, of: path)) != nil
    }

    private func sealedStream(_ text: String) throws -> Data {
        var stream = Data()
        let writer = try vault.encryptingStream { stream.append($0) }
        try writer.write(Data(text.utf8))
        try writer.finish()
        return stream
    }

    private func opened(_ stream: Data, by vault: DataVault) throws -> String {
        let reader = try vault.decryptingStream(from: SealedBytes.source(stream))
        return String(decoding: try reader.read() ?? Data(), as: UTF8.self)
    }

    @Test func `the old key no longer opens anything, and everything is still there`() throws {
        let old = try key()
        let (value, stream) = (try vault.encrypt(Data("1".utf8)), try sealedStream("one"))
        for _ in 0..<3 {
            try vault.rekey(password: Self.password)
            check(!vault.isLocked)
            try check(vault.getString("name"), equals: "value")
            try check(vault.decrypt(value), equals: Data("1".utf8))
            try check(opened(stream, by: vault), equals: "one")
        }
        try check(!opens(old))
        let (later, laterStream) = (try vault.encrypt(Data("2".utf8)), try sealedStream("two"))
        vault.lock()
        check(vaultCode { try vault.unlock(password: "wrong") }, equals: 5)
        try vault.unlock(password: Self.password)
        try check(vault.decrypt(later), equals: Data("2".utf8))
        try check(opened(laterStream, by: vault), equals: "two")
        // The holder of the old key opens what was encrypted before, and nothing since.
        let thief = try DataEncryptionKey(
            name: "datavault encryption", bytes: old.derivedKey(for: "datavault encryption 1"))
        let place = RowIdentity.text("a")
        try check(
            thief.open(value, table: "datavault", column: "encrypted", row: place),
            equals: Data("1".utf8))
        #expect(throws: EnvelopeError.self) {
            try thief.open(later, table: "datavault", column: "encrypted", row: place)
        }
    }

    @Test func `a wrong password changes nothing, and a locked vault gets no key`() throws {
        let old = try key()
        check(vaultCode { try vault.rekey(password: "wrong") }, equals: 5)
        try check(opens(old))
        vault.lock()
        check(vaultCode { try vault.rekey(password: Self.password) }, equals: 8)
    }

    @Test(arguments: [false, true])
    func `a change that was interrupted has happened or has not, and the next unlock knows`(
        isDone: Bool
    ) throws {
        let old = try key()
        let value = try vault.encrypt(Data("1".utf8))
        let new = try DataEncryptionKey.random(name: VaultValues.keyName)
        try vault.withRecord { record in
            record.nextKeys = try container.records.wrapped(
                new, with: SecretBytes(utf8: Self.password), vault.place)
            try container.records.store(&record, vault.place)
        }
        if isDone { try require(vault.openedNow).values.rekey(from: old, to: new) }
        // Without the password it cannot be known.
        check(vaultCode { try vault.changePassword("0therPassw0rd") }, equals: 8)
        check(vault.isLocked)
        try vault.unlock(password: Self.password)
        try check(vault.getString("name"), equals: "value")
        try check(vault.decrypt(value), equals: Data("1".utf8))
        try check(container.records.readyRecord(vault.place).nextKeys == nil)
        try check(opens(isDone ? new : old))
        try check(!opens(isDone ? old : new))
        try vault.changePassword("0therPassw0rd")
        vault.lock()
        try vault.unlock(password: "0therPassw0rd")
    }

    @Test func `a process that has it unlocked asks for the password again`() throws {
        let (old, new) = (try key(), try DataEncryptionKey.random(name: VaultValues.keyName))
        // What another process does.
        try vault.withRecord { record in
            record.nextKeys = try container.records.wrapped(
                new, with: SecretBytes(utf8: Self.password), vault.place)
            try container.records.store(&record, vault.place)
            let path = vault.place.databasePath(record.incarnation)
            let elsewhere = try VaultValues(path, key: old)
            try elsewhere.rekey(from: old, to: new)
            elsewhere.close()
        }
        check(vaultCode { _ = try vault.getString("name") }, equals: 8)
        check(vault.isLocked)
        try vault.unlock(password: Self.password)
        try check(vault.getString("name"), equals: "value")
    }

    @Test func `a process with the old key does not wrap it in the place of the new one`() throws {
        let (old, new) = (try key(), try DataEncryptionKey.random(name: VaultValues.keyName))
        // What another process does, to the end.
        try vault.withRecord { record in
            let path = vault.place.databasePath(record.incarnation)
            let elsewhere = try VaultValues(path, key: old)
            try elsewhere.rekey(from: old, to: new)
            elsewhere.close()
            record.keys = try container.records.wrapped(
                new, with: SecretBytes(utf8: Self.password), vault.place)
            try container.records.store(&record, vault.place)
        }
        check(vaultCode { try vault.changePassword("0therPassw0rd") }, equals: 8)
        check(vault.isLocked)
        try vault.unlock(password: Self.password)
        try check(vault.getString("name"), equals: "value")
        try vault.changePassword("0therPassw0rd")
    }

    @Test func `a restored vault has another key than the one that was backed up`() throws {
        let (old, code) = (try key(), RecoveryCode.random())
        let value = try vault.encrypt(Data("1".utf8))
        let backup = home.url.appendingPathComponent("vault.backup")
        try vault.makeBackup(at: backup, unlockedBy: [code])
        let other = try VaultHome()
        let restored = try other.container().restore(
            from: backup, id: "a", unlockedBy: code, password: "n3w pass")
        try check(restored.getString("name"), equals: "value")
        try check(restored.decrypt(value), equals: Data("1".utf8))
        let opened = try require(restored.openedNow)
        try check(opened.key.material.secret() != old.material.secret())
        let path = restored.place.databasePath(opened.incarnation)
        check((try? VaultValues.requireKey(old, of: path)) == nil)
        // And again, from a backup of the restored one.
        let again = other.url.appendingPathComponent("again.backup")
        try restored.makeBackup(at: again, unlockedBy: [code])
        let third = try VaultHome()
        let last = try third.container().restore(
            from: again, id: "a", unlockedBy: code, password: "n3w pass")
        try check(last.decrypt(value), equals: Data("1".utf8))
    }
}
