import Foundation
import SecureStorage
import TestSupport
import Testing

@testable import SecureKeys

struct Base64TextTests {
    /// The decoded bytes; nil if the text was refused.
    private func decoded(_ text: String) -> SecretBytes? {
        Array(text.utf8).withUnsafeBytes { Base64Text.bytes($0) }
    }

    // RFC 4648, section 10.
    @Test(arguments: [
        ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="),
        ("fooba", "Zm9vYmE="), ("foobar", "Zm9vYmFy"),
    ])
    func `bytes have the text of the RFC, and the text has the bytes`(
        _ bytes: String, _ text: String
    ) {
        let secret = SecretBytes(utf8: bytes)
        let encoded = Base64Text.cString(secret)
        encoded.withUnsafeBytes { check(Array($0), equals: Array(text.utf8) + [0]) }
        check(decoded(text), equals: secret)
    }

    @Test func `every byte survives, wherever it is in a group`() {
        for offset in 0..<3 {
            let bytes = Data(repeating: 0xa5, count: offset) + Data(0...255)
            let text = bytes.base64EncodedString()
            let secret = SecretBytes(copying: bytes)
            Base64Text.cString(secret).withUnsafeBytes {
                check(Array($0), equals: Array(text.utf8) + [0])
            }
            check(decoded(text), equals: secret)
        }
    }

    @Test(arguments: [
        // Not whole groups.
        "Z", "Zg", "Zg=", "Zm9vY", "Zm9vYg", "Zm9vYg=",
        // Bits that the padding excludes.
        "Zh==", "Zk==", "Zo==", "Zx==", "Zm9=", "Zm+=", "ZmB=", "Zm9vYh==",
        // Padding that is too long, or not at the end.
        "====", "Z===", "=", "==", "Zg==Zg==", "Z=g=", "Zm9v====",
        // Other characters, those next to the alphabet's among them.
        "Zm9-", "Zm9_", "Zm 9", "Zm9\n", "Zm9@", "Zm9[", "Zm9`", "Zm9{", "Zm9.", "Zm9:", "Zm9*",
        "Zm9,", "Z\u{e9}9",
    ])
    func `text of another form is refused`(_ text: String) { check(decoded(text) == nil) }
}
