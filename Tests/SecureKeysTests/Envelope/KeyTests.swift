import Crypto
import Foundation
import SecureStorage
import Testing
import TestSupport

@testable import SecureKeys

struct KeyTests {
    @Test func `a key of zeros, of the wrong length or without a name is refused`() throws {
        let zeros = SecretBytes(count: 32) { _ in }
        let good = SecretBytes.random(count: 32)
        func refuses(_ name: String, _ bytes: SecretBytes) {
            for error in [
                envelopeError { _ = try DataEncryptionKey(name: name, bytes: bytes) },
                envelopeError { _ = try KeyEncryptionKey(name: name, bytes: bytes) },
            ] {
                guard case .unacceptableKey = error else {
                    Issue.record("\(name.utf8.count), \(bytes.count): \(String(describing: error))")
                    continue
                }
            }
        }
        refuses("a", zeros)
        for count in [0, 16, 31, 33] { refuses("a", .random(count: count)) }
        refuses("", good)
        refuses(String(repeating: "a", count: 256), good)
        _ = try DataEncryptionKey(name: String(repeating: "é", count: 127) + "a", bytes: good)
    }

    @Test func `random keys differ`() throws {
        let keys = try (0..<50).map { _ in try KeyEncryptionKey.random(name: "a").secret() }
        for (index, key) in keys.enumerated() { check(!keys[..<index].contains(key)) }
    }

    @Test func `a cleared key is unusable through every reference to it`() throws {
        let key = try DataEncryptionKey.random(name: "data")
        let other = try KeyEncryptionKey.random(name: "device")
        let sealed = try key.seal(Data([1]), table: "t", column: "c", row: 1)
        let alias = key
        key.clear()
        check(alias.isCleared)
        let cleared = EnvelopeError.cleared(name: "data")
        #expect(throws: cleared) { try alias.seal(Data(), table: "t", column: "c", row: 1) }
        #expect(throws: cleared) { try alias.open(sealed, table: "t", column: "c", row: 1) }
        #expect(throws: cleared) { try alias.derivedKey(for: "x") }
        #expect(throws: cleared) { try WrappedKey(wrapping: alias, with: other) }
        #expect(throws: cleared) { try SealedStreamWriter(with: alias) { _ in } }
        other.clear()
        #expect(throws: EnvelopeError.cleared(name: "device")) { try other.secret() }
    }

    @Test func `each purpose has its own key, the same each time`() throws {
        let key = try DataEncryptionKey.random(name: "data")
        let keys = try ["database", "", "databas", "values", "stream"].map {
            try key.derivedKey(for: $0)
        }
        for (index, one) in keys.enumerated() {
            check(one.count, equals: 32)
            check(!keys[..<index].contains(one))
        }
        let again = try DataEncryptionKey(name: "other name", bytes: key.material.secret())
        try check(again.derivedKey(for: "database"), equals: keys[0])
        try check(DataEncryptionKey.random(name: "data").derivedKey(for: "database") != keys[0])
        let values = try key.subkey("values").withUnsafeBytes { SecretBytes(copying: $0) }
        check(!keys.contains(values))
    }

    @Test func `printing a secret never prints its bytes`() throws {
        let bytes = SecretBytes(count: 32) { for index in $0.indices { $0[index] = 0x6b } }
        let data = try DataEncryptionKey(name: "data", bytes: bytes)
        let device = try KeyEncryptionKey(name: "device", bytes: bytes)
        let password = try PasswordKey("kkkkkkkkhunter2", parameters: .cheapest)
        let code = try RecoveryCode("KKKKKKK-KKKKKKK-KKKKK5K")
        let holder = KeyHolder(idleTime: .seconds(60))
        holder.hold(try DataEncryptionKey(name: "data", bytes: bytes))
        let writer = try SealedStreamWriter(with: data) { _ in }
        var set = try WrappedKeySet(wrapping: data, with: device)
        try set.add(code, for: data)
        let cipher = try ExtendedNonceCipher(key: data.subkey("values"))
        var stream = Data()
        let other = try SealedStreamWriter(with: data) { stream.append($0) }
        try other.finish()
        let reader = try SealedStreamReader(
            with: data, from: SealedBytes.source(stream))
        let values: [(String, Any)] = [
            ("DataEncryptionKey", data), ("KeyEncryptionKey", device), ("PasswordKey", password),
            ("RecoveryCode", code), ("KeyHolder", holder), ("SealedStreamWriter", writer),
            ("SealedStreamReader", reader), ("WrappedKeySet", set),
            ("WrappedKey", set.records[0]), ("Material", data.material), ("Cipher", cipher),
            ("nested", [data as Any, ["key": device] as Any, Optional(password) as Any]),
        ]
        for (name, value) in values {
            var dumped = ""
            dump(value, to: &dumped)
            let texts = [
                "\(value)", String(describing: value), String(reflecting: value), dumped,
                "\(Mirror(reflecting: value).children.map { "\($0)" })",
            ]
            for text in texts {
                for secret in ["hunter2", "kkkkkkkk", "KKKKK", "107, 107", "107\n", "6b6b"] {
                    check(!text.contains(secret), "\(name): \(text)")
                }
            }
        }
        for key in [data, device, password, code, holder, writer] as [Any] {
            check("\(key)", equals: "<redacted>")
            check(Mirror(reflecting: key).children.isEmpty)
        }
    }

    @Test func `keys cannot be encoded`() throws {
        let data = try DataEncryptionKey.random(name: "data") as Any
        let device = try KeyEncryptionKey.random(name: "device") as Any
        for value in [data, device, PasswordKey("a"), RecoveryCode.random()] as [Any] {
            check(!(value is any Encodable))
            check(!(value is any Decodable))
        }
    }

    @Test func `errors say what to do, escape control characters and contain no secret`() throws {
        let key = try DataEncryptionKey.random(name: "data")
        let set = try WrappedKeySet(
            wrapping: key, with: PasswordKey("hunter2", name: "a\u{1b}[2J", parameters: .cheapest))
        let error = try require(
            envelopeError {
                _ = try set.unwrap(
                    with: PasswordKey("hunter3", name: "a\u{1b}[2J", parameters: .cheapest))
            })
        check(error, equals: .wrongPassword(name: "a\u{1b}[2J"))
        for text in ["\(error)", error.localizedDescription] {
            check(!text.contains("hunter"))
            check(!text.contains("\u{1b}"))
            check(text.contains("try again"))
        }
    }
}
