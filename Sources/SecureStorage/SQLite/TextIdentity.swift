/// The place where a text is stored: the same for all copies of one `String`, such as a literal.
///
/// Two texts of one identity are equal; equal texts may have two identities. Valid as long as one
/// of the copies lives.
struct TextIdentity: Equatable {
    private let bits: (UInt, UInt)

    init(_ text: String) {
        // A String is two words: the text itself when it is short, else its address and length.
        bits = unsafeBitCast(text, to: (UInt, UInt).self)
    }

    static func == (left: TextIdentity, right: TextIdentity) -> Bool {
        left.bits.0 == right.bits.0 && left.bits.1 == right.bits.1
    }

    /// Returns a slot in a table of `count` (a power of two) slots.
    func slot(of count: Int) -> Int {
        let mixed = (bits.0 ^ bits.1) &* 0x9e37_79b9
        return Int(truncatingIfNeeded: mixed >> 16) & (count - 1)
    }
}
