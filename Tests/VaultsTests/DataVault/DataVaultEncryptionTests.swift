import Crypto
import Foundation
import SecureStorage
import Testing
import TestSupport

@testable import SecureKeys
@testable import Vaults

struct DataVaultEncryptionTests {
    let home: VaultHome
    let vault: DataVault
    let other: DataVault

    init() throws {
        home = try VaultHome()
        vault = try home.container().create(id: "a", password: "P4sSw0rD1")
        other = try home.container().create(id: "b", password: "P4sSw0rD1")
    }

    @Test func `only the vault that encrypted data can decrypt it`() throws {
        for plaintext in [Data(), Data([1]), Data(repeating: 7, count: 100_000)] {
            let sealed = try vault.encrypt(plaintext)
            check(sealed.count, equals: plaintext.count + 41)
            try check(vault.encrypt(plaintext) != sealed)
            check(vaultCode { _ = try other.decrypt(sealed) }, equals: 6)
            vault.lock()
            try vault.unlock(password: "P4sSw0rD1")
            try check(vault.decrypt(sealed), equals: plaintext)
        }
        let sealed = try vault.encrypt(Data("text".utf8))
        for index in sealed.indices {
            var changed = sealed
            changed[index] ^= 1
            check(vaultCode { _ = try vault.decrypt(changed) }, equals: 6)
            check(vaultCode { _ = try vault.decrypt(sealed.prefix(index)) }, equals: 6)
        }
    }

    @Test func `files round-trip, and a truncated one is refused`() throws {
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
        try check(Data(contentsOf: opened), equals: plaintext)
        let cut = try file("cut", try Data(contentsOf: sealed).dropLast(1))
        let codes = try [(vault, cut), (other, sealed)].map { vault, url in
            let (input, output) = (
                try FileHandle(forReadingFrom: url), try FileHandle(forWritingTo: opened)
            )
            return vaultCode { try vault.decrypt(input, to: output) }
        }
        check(codes, equals: [6, 6])
    }

    @Test func `streams round-trip in pieces`() throws {
        nonisolated(unsafe) var sealed = Data()
        let writer = try vault.encryptingStream { sealed.append($0) }
        try writer.write(Data("one ".utf8))
        try writer.write(Data("two".utf8))
        try writer.finish()
        let reader = try vault.decryptingStream(from: Self.input(sealed))
        try check(reader.read(), equals: Data("one two".utf8))
        try check(reader.read() == nil)
        check(vaultCode { _ = try vault.decryptingStream { _ in Data() } }, equals: 6)
    }

    @Test func `a lock ends an open stream at its next chunk`() throws {
        let plaintext = Data(repeating: 7, count: 3 * SealedStream.chunkLength)
        nonisolated(unsafe) var sealed = Data()
        let whole = try vault.encryptingStream { sealed.append($0) }
        try whole.write(plaintext)
        try whole.finish()
        let writers = try (0..<2).map { _ in try vault.encryptingStream { _ in } }
        for writer in writers { try writer.write(Data("text".utf8)) }
        let reader = try vault.decryptingStream(from: Self.input(sealed))
        try check(reader.read(), equals: plaintext.prefix(SealedStream.chunkLength))
        vault.lock()
        check(vaultCode { try writers[0].write(plaintext) }, equals: 8)
        check(vaultCode { try writers[1].finish() }, equals: 8)
        // Unlocking the vault again does not resume it.
        try vault.unlock(password: "P4sSw0rD1")
        check(vaultCode { _ = try reader.read() }, equals: 8)
    }

    @Test func `locking the vault stops the encryption of a file`() throws {
        let (source, destination) = (Pipe(), Pipe())
        let (input, output) = (source.fileHandleForReading, destination.fileHandleForWriting)
        let call = Answer { [vault] in try vault.encrypt(input, to: output) }
        // The header shows that the encryption has begun.
        _ = try destination.fileHandleForReading.read(upToCount: 1)
        vault.lock()
        try source.fileHandleForWriting.write(contentsOf: Data("text".utf8))
        try source.fileHandleForWriting.close()
        check(call.code, equals: 8)
        check(vault.isLocked)
    }

    #if os(Linux)
        @Test(.enabled(if: !Sanitizer.isPresent))
        func `a lock clears the keys of open streams`() async throws {
            await #expect(processExitsWith: .success) { [path = home.path as String] in
                let vault = try VaultHome(path: path).container().vault(id: "a")
                try vault.unlock(password: "P4sSw0rD1")
                nonisolated(unsafe) var header = Data()
                let writer = try vault.encryptingStream {
                    if header.isEmpty { header = $0 }
                }
                try writer.write(Data(repeating: 7, count: 3 * SealedStream.chunkLength))
                let salt = [UInt8](header.suffix(SealedStream.saltLength))
                let key = try vault.withOpened { opened in
                    try opened.encryption.present.subkey("stream", salt: salt)
                        .withUnsafeBytes { Needle($0) }
                }
                try check(key.countInProcess() > 0)
                vault.lock()
                try check(key.countInProcess(), equals: 0)
                check(vaultCode { try writer.finish() }, equals: 8)
            }
        }
    #endif

    private static func input(_ sealed: Data) -> (Int) throws -> Data {
        nonisolated(unsafe) var rest = sealed
        return { count in
            defer { rest = rest.dropFirst(count) }
            return rest.prefix(count)
        }
    }
}
