import Crypto
import Foundation
import TestSupport
import Testing

@testable import SecureKeys

/// How passwords that look alike are told apart, and those that are alike are one.
struct PasswordTextTests {
    private func wrapped(_ password: PasswordKey) throws -> WrappedKey {
        try WrappedKey(wrapping: .random(name: "data"), with: password.makeKey())
    }

    private func key(_ bytes: [UInt8]) throws -> PasswordKey {
        try PasswordKey(SecretBytes(copying: bytes), parameters: .cheapest)
    }

    private func key(_ text: String) throws -> PasswordKey {
        try PasswordKey(text, parameters: .cheapest)
    }

    private func input(_ text: String) -> SecretBytes {
        PasswordText.scryptInput(SecretBytes(utf8: text))
    }

    @Test func `zeros at the end make another password`() throws {
        let record = try wrapped(key([0x78]))
        #expect(throws: EnvelopeError.wrongPassword(name: "password")) {
            try record.unwrap(with: key([0x78, 0]))
        }
    }

    @Test func `a long password is not opened by its hash`() throws {
        let long = [UInt8](repeating: 0x61, count: 100)
        let record = try wrapped(key(long))
        let hash = Array(SHA256.hash(data: long))
        #expect(throws: EnvelopeError.wrongPassword(name: "password")) {
            try record.unwrap(with: key(hash))
        }
    }

    @Test(arguments: [
        ("zo\u{eb}", "zoe\u{308}"), ("\u{d55c}", "\u{1112}\u{1161}\u{11ab}"),
        ("\u{c5}", "\u{212b}"),
        ("a b", "a\u{a0}b"), ("a b", "a\u{3000}b"), ("\u{1e69}", "s\u{307}\u{323}"),
    ])
    func `two spellings of one text are one input of scrypt`(_ one: String, _ other: String) {
        check(input(one), equals: input(other))
    }

    @Test(arguments: [
        ("a", "A"), ("fi", "\u{fb01}"), ("1", "\u{ff11}"), ("a b", "a  b"), ("a", "a\u{200b}"),
        ("a", "a "),
    ])
    func `texts that only look alike are two inputs of scrypt`(_ one: String, _ other: String) {
        check(input(one) != input(other))
    }

    @Test func `a password opens what another spelling of it has wrapped, and no other does`()
        throws
    {
        let record = try wrapped(key("zo\u{eb}"))
        _ = try record.unwrap(with: key("zoe\u{308}"))
        #expect(throws: EnvelopeError.wrongPassword(name: "password")) {
            try record.unwrap(with: key("Zo\u{eb}"))
        }
    }

    @Test func `bytes that are not UTF-8 are used as they are`() throws {
        let bytes: [UInt8] = [0x61, 0xff, 0xcc, 0x88]
        check(
            PasswordText.prepared(SecretBytes(copying: bytes)), equals: SecretBytes(copying: bytes))
        let input = PasswordText.scryptInput(SecretBytes(copying: bytes))
        for other in [[0x61, 0xff], [0x61, 0xfe, 0xcc, 0x88], [0xc3, 0xa4]] as [[UInt8]] {
            check(PasswordText.scryptInput(SecretBytes(copying: other)) != input)
        }
        let record = try wrapped(key(bytes))
        _ = try record.unwrap(with: key(bytes))
    }
}
