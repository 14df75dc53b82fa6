import Foundation
import Testing
import TestSupport

@testable import SecureKeys

/// The limits of a file of a secret.
struct KeyFileTests {
    private let name: SecretName

    init() throws { name = try SecretName("k") }

    @Test func `a plain secret of the greatest size is read, and a larger one is damage`() throws {
        let largest = SecretBytes(count: 65_536) { $0.copyBytes(from: [1, 2, 3]) }
        let file = try KeyFile.contents(name, largest, sealedWith: nil)
        try check(KeyFile.secret(of: name, file).bytes, equals: largest)
        for excess in [1, DataEncryptionKey.valueOverhead] {
            let larger = SecretBytes(count: 65_536 + excess) { _ in }
            let file = try KeyFile.contents(name, larger, sealedWith: nil)
            #expect(throws: KeyFile.Damage.self) { try KeyFile.secret(of: name, file) }
        }
    }

    @Test func `the largest file is read as a whole`() throws {
        let name = try SecretName(String(repeating: "n", count: 255))
        let key = try DataEncryptionKey.random(name: "k")
        let largest = SecretBytes(count: 65_536) { _ in }
        let file = try KeyFile.contents(name, largest, sealedWith: key)
        check(file.count, equals: KeyFile.maximumSize)
        let read = try KeyFile.secret(of: name, file)
        check(read.isSealed)
        try check(KeyFile.open(read.bytes, of: name, with: key), equals: largest)
    }
}
