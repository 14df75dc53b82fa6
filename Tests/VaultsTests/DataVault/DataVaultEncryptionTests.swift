import Foundation
import SecureStorage
import Testing

@testable import Vaults

@Suite(.timeLimit(.minutes(10)))
struct DataVaultEncryptionTests {
    let home: VaultHome
    let vault: DataVault
    let other: DataVault

    init() throws {
        home = try VaultHome()
        vault = try home.container().create(id: "a", password: "P4sSw0rD1")
        other = try home.container().create(id: "b", password: "P4sSw0rD1")
    }

    @Test func `data comes back from the vault that has encrypted it, and from no other`() throws {
        for plaintext in [Data(), Data([1]), Data(repeating: 7, count: 100_000)] {
            let sealed = try vault.encrypt(plaintext)
            #expect(sealed.count == plaintext.count + 41)
            #expect(try vault.encrypt(plaintext) != sealed)
            #expect(vaultCode { _ = try other.decrypt(sealed) } == 6)
            vault.lock()
            try vault.unlock(password: "P4sSw0rD1")
            #expect(try vault.decrypt(sealed) == plaintext)
        }
        let sealed = try vault.encrypt(Data("text".utf8))
        for index in sealed.indices {
            var changed = sealed
            changed[index] ^= 1
            #expect(vaultCode { _ = try vault.decrypt(changed) } == 6)
            #expect(vaultCode { _ = try vault.decrypt(sealed.prefix(index)) } == 6)
        }
    }

    @Test func `files come back, and one that was cut does not`() throws {
        func file(_ name: String, _ data: Data = Data()) throws -> URL {
            let url = home.url.appendingPathComponent(name)
            try data.write(to: url)
            return url
        }
        let plaintext = Data((0..<200_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
        let source = try file("source", plaintext)
        let (sealed, opened) = (try file("sealed"), try file("opened"))
        try vault.encrypt(
            FileHandle(forReadingFrom: source), to: FileHandle(forWritingTo: sealed))
        try vault.decrypt(
            FileHandle(forReadingFrom: sealed), to: FileHandle(forWritingTo: opened))
        #expect(try Data(contentsOf: opened) == plaintext)
        let cut = try file("cut", try Data(contentsOf: sealed).dropLast(1))
        let codes = try [(vault, cut), (other, sealed)].map { vault, url in
            let (input, output) = (
                try FileHandle(forReadingFrom: url), try FileHandle(forWritingTo: opened)
            )
            return vaultCode { try vault.decrypt(input, to: output) }
        }
        #expect(codes == [6, 6])
    }

    @Test func `a stream that has begun is ended after the vault was locked`() throws {
        nonisolated(unsafe) var sealed = Data()
        let writer = try vault.encryptingStream { sealed.append($0) }
        try writer.write(Data("one ".utf8))
        vault.lock()
        try writer.write(Data("two".utf8))
        try writer.finish()
        try vault.unlock(password: "P4sSw0rD1")
        var rest = sealed
        let reader = try vault.decryptingStream { count in
            defer { rest = rest.dropFirst(count) }
            return rest.prefix(count)
        }
        #expect(try reader.read() == Data("one two".utf8))
        #expect(try reader.read() == nil)
        #expect(vaultCode { _ = try vault.decryptingStream { _ in Data() } } == 6)
    }
}
