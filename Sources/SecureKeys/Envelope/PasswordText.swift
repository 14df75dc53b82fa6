internal import Crypto
internal import Foundation

/// The text of a password, normalised so that two spellings are one.
package enum PasswordText {
    private static let label = Array("SecureStorage password 1".utf8)

    /// Returns the input of scrypt: the SHA-512 of a label, the length and the prepared text, so
    /// that every password is different from all others.
    ///
    /// HMAC, on which scrypt is based, takes keys that differ only in zeros at the end, and a long
    /// one and its hash, for the same.
    package static func scryptInput(_ password: SecretBytes) -> SecretBytes {
        let text = prepared(password)
        var hash = SHA512()
        hash.update(data: label)
        withUnsafeBytes(of: UInt64(text.count).bigEndian) { hash.update(bufferPointer: $0) }
        text.withUnsafeBytes { hash.update(bufferPointer: $0) }
        defer { Scrubbing.hash() }
        return SecretBytes(copying: hash.finalize())
    }

    /// Returns the prepared form of a text, that of the profile OpaqueString of [RFC
    /// 8265](https://www.rfc-editor.org/rfc/rfc8265); bytes that are not UTF-8 are unchanged.
    ///
    /// Every space is U+0020, and the text is in Unicode's normalization form C.
    static func prepared(_ password: SecretBytes) -> SecretBytes {
        password.withUnsafeBytes { bytes -> SecretBytes? in
            // Already prepared, and the usual case: no `String` of it is made.
            guard bytes.contains(where: { $0 >= 0x80 }) else { return nil }
            var text = String(decoding: bytes, as: UTF8.self)
            guard text.utf8.elementsEqual(bytes) else { return nil }
            defer { text.overwrite() }
            var composed = text.precomposedStringWithCanonicalMapping
            defer { composed.overwrite() }
            return SecretBytes(spacedOut: composed.unicodeScalars)
        } ?? password
    }
}

extension SecretBytes {
    /// Copies the UTF-8 of scalars, with U+0020 for every space.
    fileprivate convenience init(spacedOut scalars: String.UnicodeScalarView) {
        func utf8(_ scalar: Unicode.Scalar) -> Unicode.Scalar.UTF8View {
            (scalar.properties.generalCategory == .spaceSeparator ? " " : scalar).utf8
        }
        self.init(count: scalars.reduce(0) { $0 + utf8($1).count }) { buffer in
            var place = 0
            for byte in scalars.lazy.flatMap(utf8) {
                buffer[place] = byte
                place += 1
            }
        }
    }
}

extension String {
    /// Overwrites the text's own memory, which no one else may use, as far as possible: a short
    /// text is in registers or on the stack.
    fileprivate mutating func overwrite() {
        _ = withUTF8 { text in
            UnsafeMutableRawBufferPointer(mutating: UnsafeRawBufferPointer(text))
                .initializeMemory(as: UInt8.self, repeating: 0)
        }
    }
}
