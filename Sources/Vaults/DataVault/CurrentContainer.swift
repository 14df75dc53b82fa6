internal import Foundation
internal import SecureStoragePlatform
internal import SecureStorage

/// The container of the static calls of ``DataVault``: this program's own, or one that programs
/// share.
final class CurrentContainer: Sendable {
    static let shared = CurrentContainer()

    private struct State {
        var container: DataVaultContainer?
        /// Keyed by the bytes of the access group, which are empty for the private container; one
        /// object per group, also for vaults opened earlier.
        var containers: [[UInt8]: DataVaultContainer] = [:]
        var handler: DataVaultContainer.DestructionHandler?

        mutating func use(
            _ group: String, _ make: () throws -> DataVaultContainer
        ) throws -> DataVaultContainer {
            let name = Array(group.utf8)
            let used = try containers[name] ?? make()
            used.onDestruction = handler
            containers[name] = used
            container = used
            return used
        }
    }

    private let state = Locked(State())

    var onDestruction: DataVaultContainer.DestructionHandler? {
        get { state.withLock { $0.handler } }
        set {
            state.withLock { state in
                state.handler = newValue
                for container in state.containers.values { container.onDestruction = newValue }
            }
        }
    }

    /// The container; initially this program's own, created on first access.
    var value: DataVaultContainer {
        get throws {
            try state.withLock { state in
                if let container = state.container { return container }
                return try state.use("") { try Self.makePrivate() }
            }
        }
    }

    func share(accessGroup: String) throws {
        guard !accessGroup.isEmpty else {
            throw DataVaultError.invalidArg(reason: "the access group is empty")
        }
        try state.withLock { state in
            _ = try state.use(accessGroup) { try Self.makeShared(accessGroup) }
        }
    }

    private static let directoryName = "DataVaults"
    /// A different name, because a group can have the name of a program.
    private static let sharedDirectoryName = "SharedDataVaults"

    private static func makePrivate() throws -> DataVaultContainer {
        let directory = try DataVaultError.writing {
            try SharedDatabase.directory(named: programName)
        }
        .appendingPathComponent(directoryName, isDirectory: true)
        #if canImport(Darwin)
            let keyStore = try DataVaultError.reading {
                try KeychainKeyStore(service: "DataVault.private.\(programName)")
            }
            return try DataVaultContainer(directory: directory, keyStore: keyStore)
        #else
            return try DataVaultContainer(directory: directory)
        #endif
    }

    private static func makeShared(_ group: String) throws -> DataVaultContainer {
        #if canImport(Darwin)
            return try DataVaultContainer(
                directory: DataVaultError.writing {
                    try SharedDatabase.directory(appGroup: group, named: sharedDirectoryName)
                },
                keyStore: DataVaultError.reading {
                    try KeychainKeyStore(service: "DataVault.shared", accessGroup: group)
                })
        #else
            if group.hasPrefix("/") {
                return try DataVaultContainer(
                    directory: URL(fileURLWithPath: group), sharedWithGroup: true)
            }
            let directory = try DataVaultError.writing {
                try SharedDatabase.directory(named: group)
            }
            return try DataVaultContainer(
                directory: directory.appendingPathComponent(
                    sharedDirectoryName, isDirectory: true))
        #endif
    }

    private static var programName: String {
        let name = StandardDirectories.programName
        return name.isEmpty || name.hasPrefix(".") ? "_" + name : name
    }
}
