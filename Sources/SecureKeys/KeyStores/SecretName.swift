package import Foundation
internal import SecureStoragePlatform

/// A validated name of a secret, compared and sorted by its UTF-8 bytes.
package struct SecretName: Hashable, Comparable {
    package static let maximumLength = 255
    /// The size limit in bytes; larger data belongs in a database, whose key belongs in the store.
    package static let maximumSecretSize = 65_536

    package let utf8: Data

    package var text: String { String(decoding: utf8, as: UTF8.self) }

    /// - Throws: `KeyStoreError.invalidName`
    package init(_ text: String) throws {
        utf8 = Data(text.utf8)
        guard !utf8.isEmpty else { throw KeyStoreError.invalidName(reason: "it is empty") }
        guard utf8.count <= Self.maximumLength else {
            throw KeyStoreError.invalidName(reason: "it has \(utf8.count) bytes")
        }
    }

    package static func < (left: Self, right: Self) -> Bool {
        left.utf8.lexicographicallyPrecedes(right.utf8)
    }

    /// Refuses a secret that is empty, and thus not a key, or too large.
    package static func check(_ secret: SecretBytes) throws {
        guard secret.count > 0 else {
            throw KeyStoreError.refused(reason: "the secret is empty; pass the bytes of a key")
        }
        guard secret.count <= maximumSecretSize else {
            throw KeyStoreError.refused(
                reason:
                    "the secret has \(secret.count) bytes, but the limit is \(maximumSecretSize); "
                    + "keep it in an encrypted database, and that database's key here")
        }
    }
}

extension SecretName {
    // Services differ in how they handle NUL, accented letters and case; all of them preserve
    // printable ASCII.

    /// The name in printable ASCII; other bytes, and the percent sign, become `%` and two hex
    /// digits.
    package var ascii: String {
        var text = ""
        for byte in utf8 {
            if (0x20...0x7e).contains(byte), byte != UInt8(ascii: "%") {
                text.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                text += "%" + Hex.text([byte])
            }
        }
        return text
    }

    /// Decodes the ASCII form of a name; nil for text that ``ascii`` does not produce.
    package init?(ascii: String) {
        var bytes = Data()
        var rest = Array(ascii.utf8)[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16)
            else { return nil }
            rest = rest.dropFirst(2)
            bytes.append(value)
        }
        guard let text = String(bytes: bytes, encoding: .utf8), let name = try? SecretName(text),
            name.ascii == ascii
        else { return nil }
        self = name
    }
}
