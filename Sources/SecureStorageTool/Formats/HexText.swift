/// Bytes as hexadecimal digits, and back.
enum HexText {
    static func value(_ digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
        default: nil
        }
    }

    /// Returns nil when `text` does not consist of pairs of hexadecimal digits.
    static func bytes(_ text: String) -> [UInt8]? {
        let digits = Array(text.utf8)
        guard digits.count % 2 == 0 else { return nil }
        var bytes: [UInt8] = []
        for index in stride(from: 0, to: digits.count, by: 2) {
            guard let high = value(digits[index]), let low = value(digits[index + 1]) else {
                return nil
            }
            bytes.append(high << 4 | low)
        }
        return bytes
    }

    static func write(_ bytes: UnsafeRawBufferPointer, to output: Output) throws {
        let digits = StaticString("0123456789abcdef").utf8Start
        for byte in bytes {
            try output.write(byte: digits[Int(byte >> 4)])
            try output.write(byte: digits[Int(byte & 0x0f)])
        }
    }

    static func text(_ bytes: some Sequence<UInt8>) -> String {
        let digits = StaticString("0123456789abcdef").utf8Start
        var text: [UInt8] = []
        for byte in bytes {
            text.append(digits[Int(byte >> 4)])
            text.append(digits[Int(byte & 0x0f)])
        }
        return String(decoding: text, as: UTF8.self)
    }
}
