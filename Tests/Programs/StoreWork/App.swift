import Foundation
import StoreChecks
import SecureKeys
import SecureMirror
import SecureStorage
import SecureSync
import TestSupport

/// An app that commits to a ledger.
struct App {
    private let path: String
    private let pool: SecureDatabasePool
    private let mirror: DatabaseMirror
    private let isLarge: Bool

    init(_ path: String, _ place: MirrorPlace, isLarge: Bool) throws {
        self.path = path
        pool = try Self.open(path)
        mirror = try place.mirror(of: pool)
        self.isLarge = isLarge
    }

    private static func open(_ path: String) throws -> SecureDatabasePool {
        var configuration = SecureDatabaseConfiguration()
        configuration.busyTimeout = .seconds(60)
        let pool = SecureDatabasePool(fullDatabasePath: path, configuration: configuration)
        try pool.open(with: .raw(SecretBytes(copying: TemporaryDatabase.key)))
        return pool
    }

    /// Commits and flushes until the process is killed.
    func run(_ acknowledged: NumberFile) async throws {
        if Bool.random() {
            Task { [mirror] in
                do {
                    try await mirror.run()
                } catch {
                    FileHandle.standardError.write(Data("run: \(error)\n".utf8))
                    exit(1)
                }
            }
        }
        while true {
            for _ in 0..<Int.random(in: 1...3) {
                try await pool.write { _ = try Ledger.commit($0) }
            }
            try await Self.maintain(path, pool)
            if isLarge, Int.random(in: 0..<8) == 0 {
                // Several objects.
                try await pool.write { _ = try Ledger.commit($0, count: 3, bytes: 2_000_000) }
            }
            let state = try await pool.read { try Ledger.check($0) }
            try await mirror.flush()
            try acknowledged.write(state.commits)
        }
    }

    /// Commits and flushes until another mirror has taken over, which is not a failure.
    func race(rounds: Int) async throws {
        for _ in 0..<rounds {
            try await pool.write { _ = try Ledger.commit($0) }
            do {
                try await mirror.flush()
            } catch MirrorError.otherMirror {
                break
            }
        }
        await pool.close()
    }

    static func write(_ path: String, count: Int) async throws {
        let pool = try open(path)
        for _ in 0..<count {
            try await pool.write { _ = try Ledger.commit($0) }
            try await maintain(path, pool)
        }
        await pool.close()
    }

    static func changeKey(_ path: String, to byte: UInt8) throws {
        let pool = try open(path)
        try pool.changeEncryptionKey(
            with: .raw(SecretBytes(copying: Data(repeating: byte, count: 32))))
        pool.close()
    }

    /// Does now and then what else happens to a file.
    private static func maintain(_ path: String, _ pool: SecureDatabasePool) async throws {
        switch Int.random(in: 0..<20) {
        case 0...2: try checkpoint(path, .passive)
        case 3: try checkpoint(path, .truncate)
        case 4: try await pool.writeWithoutTransaction { try $0.executeUpdate("VACUUM") }
        default: break
        }
    }

    /// Moves as much of the log into the file as others allow, without waiting for them.
    private static func checkpoint(_ path: String, _ mode: CheckpointMode) throws {
        var configuration = SecureDatabaseConfiguration()
        configuration.secondInstance = .allowed
        configuration.busyTimeout = .zero
        let db = SecureDatabaseStore(fullDatabasePath: path, configuration: configuration)
        defer { db.close() }
        do {
            try db.open(with: TemporaryDatabase.key)
            _ = try db.checkpoint(mode)
        } catch let error as SecureStorageError where error.isBusy {
            // The next one.
        }
    }
}
