internal import ArgumentParser
internal import Foundation
internal import SecureKeys
internal import SecureStorage
internal import SecureSync

/// `securestorage sync`: keeps tables equal on several devices and servers.
struct Sync: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sync",
        abstract: "Keep tables equal on several devices and servers.",
        discussion: """
            Each has its own file and writes it at once. Its changes reach the others through a store that \
            sees only ciphertext: \(MirrorStoreOptions.addresses). "status" and "conflicts" need neither the store nor \
            the device's keys, which are in a directory that only you can access, --device-keys, and are not part of the \
            file's backups.

            EXAMPLES
              securestorage sync create notes.db --table note --name server --store /mnt/share --device-keys keys
              securestorage sync invite notes.db --store /mnt/share --device-keys keys
              securestorage sync join copy.db --table note --name laptop --store /mnt/share --device-keys keys
              securestorage sync run notes.db --store /mnt/share --device-keys keys
              securestorage sync status notes.db
            """,
        subcommands: [
            SyncStatusVerb.self, SyncCreate.self, SyncInvite.self, SyncJoin.self, SyncRun.self,
            SyncMembersVerb.self, SyncRemove.self, SyncLeave.self, SyncReset.self,
            SyncConflictsVerb.self, SyncVerify.self,
        ])

    static let deviceKeysHelp = ArgumentHelp(
        "The directory with this device's keys for sync; it is made if it is missing.",
        valueName: "directory")
    static let nameHelp = ArgumentHelp(
        "What other members see of this device; the store does not.", valueName: "name")
    static let keyValueStoreHelp = ArgumentHelp(
        "A key-value store of the file to sync; may be repeated.", valueName: "name")
    static let tableHelp = ArgumentHelp(
        "A table to sync; may be repeated. Not needed if the file's app has said it.",
        valueName: "table")
}

/// A verb that uses the store of a synced file.
///
/// Each contains the groups of options itself, as ``FileVerb``.
protocol SyncVerb: FileVerb {
    var store: String { get }
    var deviceKeys: String { get }
    var storeOptions: MirrorStoreOptions { get }
}

extension FileVerb {
    /// Opens the file as it is, for an engine or for what an engine has left in it.
    func openQueue(for use: FileUse) throws -> SecureDatabaseQueue {
        var configuration = try configurationOfExisting()
        configuration.isReadOnly = use == .reading
        let queue = SecureDatabaseQueue(fullDatabasePath: file, configuration: configuration)
        let key = try keyOptions.key(of: file, isNew: false)
        try explaining(key) { try queue.open(with: key) }
        return queue
    }
}

extension SyncVerb {
    /// Opens the file and its engine.
    ///
    /// - Parameters:
    ///   - names: Tables that the user wants, beside those that the file declares.
    ///   - stores: Key-value stores, likewise.
    /// - Returns: The engine, which keeps the file open.
    /// - Throws: a usage error if no table is synced; the errors of the file and of the engine.
    func engine(
        tables names: [String] = [], keyValueStores stores: [String] = []
    ) throws -> SyncEngine {
        let store = try storeOptions.store(store)
        let queue = try openQueue(for: .writing)
        var tables = try SyncedTables(declaredIn: queue)
        for name in names where !tables.declares(name) { tables.add(name) }
        for name in stores where !tables.declares(keyValueStore: name) {
            tables.add(keyValueStore: name)
        }
        guard !tables.isEmpty else {
            throw Failure.usage(
                "no table of \"\(file)\" is synced; name one with --table or --key-value-store")
        }
        let directory = URL(fileURLWithPath: deviceKeys, isDirectory: true)
        return try SyncEngine(
            queue, tables: tables, store: store, keyStore: FileKeyStore(directory: directory))
    }

    /// The members as the store shows them now.
    func currentMembers(of engine: SyncEngine) throws -> [SyncMember] {
        try waiting {
            do {
                _ = try await engine.syncOnce()
            } catch let error as SyncError where !error.isTransient && error != .notAMember {
                // A log that cannot be read must not keep its member from being removed.
            }
            return try await engine.members()
        }
    }
}

/// What a verb of sync has done, as JSON.
struct SyncAnswer: Encodable {
    var sent: Int
    var transactions: Int
    var rows: Int
    var snapshot: Bool
    var loaded: Bool
    var forked: Bool

    init(_ report: SyncReport) {
        (sent, transactions) = (report.sentBatches, report.appliedTransactions)
        (rows, snapshot) = (report.appliedRows, report.hasWrittenSnapshot)
        (loaded, forked) = (report.hasLoadedSnapshot, report.hasForked)
    }

    /// For people.
    var line: String {
        var text =
            "sent \(Counted.text(sent, "batch", "batches")), applied "
            + "\(Counted.text(transactions, "transaction")) with \(Counted.text(rows, "row"))"
        if loaded { text += "; loaded a snapshot" }
        if forked { text += "; the file was a copy and is a member of its own now" }
        return text
    }
}
