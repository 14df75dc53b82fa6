import Foundation
import SecureKeys
import SecureStorage
import Testing
import TestSupport
import Vaults

struct KeyStoreTests {
    /// The kinds of key stores; this machine may not have them all.
    enum Kind: String, CaseIterable, CustomTestStringConvertible {
        case inMemory, file, sharedFile, sealedFile, kernelKeyring, secretService

        static var available: [Kind] {
            #if os(Linux)
                allCases.filter {
                    switch $0 {
                    case .secretService: PrivateKeyring.isInstalled
                    case .kernelKeyring: (try? KernelKeyringKeyStore(service: "tests")) != nil
                    default: true
                    }
                }
            #else
                [.inMemory, .file, .sharedFile, .sealedFile]
            #endif
        }

        var testDescription: String { rawValue }
    }

    @Test(arguments: KeyStoreCheck.allCases, Kind.available)
    func `every key store behaves the same`(_ check: KeyStoreCheck, _ kind: Kind) async throws {
        switch kind {
        case .inMemory: try check.run(on: InMemoryKeyStore())
        case .file:
            let folder = try KeyFolder()
            try check.run(on: folder.store())
        case .sharedFile:
            let folder = try KeyFolder()
            try require(mkdir(folder.path, 0o700) == 0 && chmod(folder.path, 0o2770) == 0)
            try check.run(on: FileKeyStore(directory: folder.url, sharedWithGroup: true))
        case .sealedFile:
            let folder = try KeyFolder()
            let key = try DataEncryptionKey.random(name: "machine")
            try check.run(on: FileKeyStore(directory: folder.url, sealedWith: key))
        case .kernelKeyring:
            // The kernel keeps 20 kB for a user other than root.
            let isLarge = check == .allSizesAndAllBytes || check == .sixteenThreadsMixed
            guard geteuid() == 0 || !isLarge else { return }
            let store = try KernelKeyringKeyStore(service: "\(check) \(UUID())")
            defer { for name in (try? store.names()) ?? [] { _ = try? store.remove(name) } }
            try check.run(on: store)
        case .secretService:
            #if os(Linux)
                let keyring = try PrivateKeyring.shared.get()
                await #expect(processExitsWith: .success) {
                    [check = check.rawValue as String, address = keyring.address as String] in
                    PrivateKeyring.use(address)
                    let check = try require(KeyStoreCheck(rawValue: check))
                    try check.run(on: SecretServiceKeyStore(service: "\(check) \(UUID())"))
                }
            #endif
        }
    }

    @Test func `a locked store reports that from every call and loses nothing`() throws {
        let store = InMemoryKeyStore()
        try store.store(.uniform(1), forName: "k")
        store.isLocked = true
        check(store.errors(forName: "k"), equals: Array(repeating: .unavailable, count: 5))
        check(store.errors(forName: "absent"), equals: Array(repeating: .unavailable, count: 5))
        store.isLocked = false
        try check(store.read("k"), equals: .uniform(1))
    }

    @Test func `no new secret is made while the store is locked`() throws {
        let store = InMemoryKeyStore()
        store.isLocked = true
        let error = keyStoreError {
            _ = try store.read("k") {
                Issue.record("a new secret was made")
                return .uniform(2)
            }
        }
        check(error?.kind, equals: .unavailable)
    }

    @Test func `nothing is stored if making the new secret fails`() throws {
        struct NoKey: Error {}
        let store = InMemoryKeyStore()
        #expect(throws: NoKey.self) { try store.read("k") { throw NoKey() } }
        try check(store.names(), equals: [])
    }
}
