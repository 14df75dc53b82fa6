internal import Foundation

/// A text that is equal to another one when their bytes are: as `String`s, two spellings of one
/// character would be equal, and for SQLite they are not.
struct ByteString: Hashable, Sendable, ExpressibleByStringLiteral {
    let text: String

    init(_ text: String) { self.text = text }

    init(stringLiteral text: String) { self.text = text }

    static func == (left: ByteString, right: ByteString) -> Bool {
        var (left, right) = (left.text, right.text)
        return left.withUTF8 { left in
            right.withUTF8 { right in
                guard left.count == right.count else { return false }
                guard let start = left.baseAddress, let other = right.baseAddress else {
                    return true
                }
                return start == other || memcmp(start, other, left.count) == 0
            }
        }
    }

    func hash(into hasher: inout Hasher) {
        var text = text
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }
}
