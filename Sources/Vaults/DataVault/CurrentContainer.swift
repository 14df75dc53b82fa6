internal import Foundation
internal import SecureStoragePlatform
internal import SecureStorage

/// The container of the static calls of ``DataVault``: this program's own, or one that programs
/// share.
final class CurrentContainer: Sendable {
    static let shared = CurrentContainer()

    private struct State {
        var container: DataVaultContainer?
        /// One object per place, also for vaults opened earlier.
        var containers: [Place: DataVaultContainer] = [:]
        var handler: DataVaultContainer.DestructionHandler?

        mutating func use(_ place: Place) throws -> DataVaultContainer {
            let used = try containers[place] ?? place.makeContainer()
            used.onDestruction = handler
            containers[place] = used
            container = used
            return used
        }
    }

    /// Where the vaults are: names are equal if their bytes are.
    private enum Place: Hashable {
        case application([UInt8])
        case group([UInt8])

        func makeContainer() throws -> DataVaultContainer {
            switch self {
            case .application(let name): try makePrivate(String(decoding: name, as: UTF8.self))
            case .group(let name): try makeShared(String(decoding: name, as: UTF8.self))
            }
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
                return try state.use(.application(Array(Self.programName.utf8)))
            }
        }
    }

    func share(accessGroup: String) throws {
        guard !accessGroup.isEmpty else {
            throw DataVaultError.invalidArg(reason: "the access group is empty")
        }
        try state.withLock { _ = try $0.use(.group(Array(accessGroup.utf8))) }
    }

    func setApplicationName(_ name: String) throws {
        guard !name.isEmpty, !name.hasPrefix("."),
            !name.utf8.contains(where: { $0 == 0x2f || $0 == 0 })
        else {
            throw DataVaultError.invalidArg(
                reason:
                    "the application's name is empty, begins with a dot, or contains a slash or a NUL"
            )
        }
        // The keychain's service has a prefix.
        guard name.utf8.count <= 200 else { throw DataVaultError.nameTooLong }
        try state.withLock { _ = try $0.use(.application(Array(name.utf8))) }
    }

    private static let directoryName = "DataVaults"
    /// A different name, because a group can have the name of a program.
    private static let sharedDirectoryName = "SharedDataVaults"

    private static func makePrivate(_ name: String) throws -> DataVaultContainer {
        let directory = try DataVaultError.writing {
            try SharedDatabase.directory(named: name)
        }
        .appendingPathComponent(directoryName, isDirectory: true)
        #if canImport(Darwin)
            let keyStore = try DataVaultError.reading {
                try KeychainKeyStore(service: "DataVault.private.\(name)")
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
