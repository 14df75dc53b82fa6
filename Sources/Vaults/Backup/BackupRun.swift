internal import Foundation
internal import SecureStorage

/// Makes one backup.
struct BackupRun {
    let database: any SecureDatabaseWriter
    let sources: [any KeyEncryptionKeySource]
    let dataKeys: [VaultBackupKey]
    let label: VaultBackupLabel
    let replacing: Bool
    /// Changes the database before it is copied, in the transaction that counts the backup.
    var preparing: (SecureDatabaseStore) throws -> Void = { _ in }

    func write(to url: URL, _ progress: FileProgress.Handler) throws -> VaultBackupMetadata {
        try checkContents()
        let workspace = try BackupWorkspace(for: url)
        try workspace.requireFree(replacing: replacing)
        // Wrap the keys first: errors with them are found before any work.
        let keys = try BackupKeys(.random(name: VaultBackupHeader.keyName))
        let (keySet, wrapped) = try wrap(keys)
        let copied = BackupDatabase(workspace, keys, database.configuration)
        try database.write {
            try VaultIdentity.advance(in: $0)
            try preparing($0)
        }
        try database.backup(to: copied.url, key: copied.key) {
            try progress(FileProgress($0.completed, of: $0.total, step: .copying))
        }
        // Another backup may have begun in the meantime, so the identity in the copy is
        // authoritative.
        guard let identity = try copied.withStore(readOnly: true, VaultIdentity.read) else {
            throw VaultBackupError.unacceptableContents(
                reason: "the database has no vault id; do not make a backup inside a transaction")
        }
        let copy = try SequentialFile(reading: copied.url.path)
        let header = try VaultBackupHeader(
            identity: identity, createdAt: Date(), databaseSize: copy.size(), label: label,
            keySet: keySet, keys: wrapped)
        try seal(copy, header, keys, to: workspace.url("backup"), progress)
        // The check needs its space.
        unlink(copied.url.path)
        let metadata = try VaultBackup.verify(
            workspace.url("backup"), sources, workspace, database.configuration, progress)
        try workspace.publish("backup", replacing: replacing)
        return metadata
    }

    private func checkContents() throws {
        func refuse(_ reason: String) -> VaultBackupError { .unacceptableContents(reason: reason) }
        guard !sources.isEmpty else { throw refuse("nothing would unlock it") }
        guard label.deviceName.utf8.count <= VaultBackupHeader.longestDeviceName,
            label.note.utf8.count <= VaultBackupHeader.longestNote
        else { throw refuse("the label has more than 255 bytes of device name or 4096 of note") }
        guard dataKeys.count <= VaultBackupHeader.mostKeys else {
            throw refuse("\(dataKeys.count) data keys; the limit is \(VaultBackupHeader.mostKeys)")
        }
        guard Set(dataKeys.map { Array($0.name.utf8) }).count == dataKeys.count else {
            throw refuse("two data keys have the same name")
        }
        for case .wrapped(let set) in dataKeys {
            let names = set.records.map(\.keyEncryptionKeyName)
            guard sources.allSatisfy({ names.contains($0.name) }) else {
                throw refuse(
                    "the key set \(KeyStoreError.quoted(set.dataKeyName)) lacks a record for "
                        + "a password or code that unlocks the backup")
            }
        }
    }

    private func wrap(_ keys: BackupKeys) throws -> (WrappedKeySet, [VaultBackupHeader.Key]) {
        var set = try WrappedKeySet(wrapping: keys.key, with: sources[0])
        for source in sources.dropFirst() { try set.add(source, for: keys.key) }
        let wrapped = try dataKeys.map { key -> VaultBackupHeader.Key in
            switch key {
            case .key(let key): .key(try WrappedKey(wrapping: key, with: keys.wrapping))
            case .wrapped(let set): .set(set)
            }
        }
        // Creates a header now to reject a password that is too costly.
        _ = try VaultBackupHeader(
            identity: VaultIdentity(id: UUID(), generation: 1), createdAt: Date(), databaseSize: 0,
            label: label, keySet: set, keys: wrapped)
        return (set, wrapped)
    }

    private func seal(
        _ copy: SequentialFile, _ header: VaultBackupHeader, _ keys: BackupKeys, to url: URL,
        _ progress: FileProgress.Handler
    ) throws {
        let backup = try SequentialFile(making: url.path)
        try backup.write(header.bytes)
        let writer = try SealedStreamWriter(with: keys.key, context: header.bytes) {
            try backup.write($0)
        }
        let size = Int(header.metadata.databaseSize)
        var done = 0
        while true {
            // Once per megabyte.
            if done % (1 << 20) == 0 {
                try progress(FileProgress(done, of: size, step: .sealing))
            }
            let part = try copy.read(SealedStream.chunkLength)
            guard !part.isEmpty else { break }
            try writer.write(part)
            done += part.count
        }
        try writer.finish()
        try backup.sync()
        try progress(FileProgress(size, of: size, step: .sealing))
    }
}
