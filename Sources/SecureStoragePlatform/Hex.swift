/// Converts between hexadecimal digits and bytes, without an intermediate `String`, which could not
/// be cleared.
package enum Hex {
    package static func value(_ digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
        default: nil
        }
    }

    /// Decodes pairs of valid digits; `output` has half the length of `digits`.
    package static func decode(
        _ digits: Slice<UnsafeRawBufferPointer>, into output: UnsafeMutableRawBufferPointer
    ) {
        var position = digits.startIndex
        for index in output.indices {
            let high = value(digits[position]) ?? 0
            let low = value(digits[position + 1]) ?? 0
            output[index] = high << 4 | low
            position += 2
        }
    }

    /// Writes two digits per byte; `output` has twice the length of `bytes`.
    package static func encode(
        _ bytes: some Collection<UInt8>, into output: Slice<UnsafeMutableRawBufferPointer>
    ) {
        let digits = StaticString("0123456789abcdef").utf8Start
        var output = output
        var position = output.startIndex
        for byte in bytes {
            output[position] = digits[Int(byte >> 4)]
            output[position + 1] = digits[Int(byte & 0x0f)]
            position += 2
        }
    }

    /// Decodes pairs of digits; nil for anything else.
    package static func decode(_ digits: some Collection<UInt8>) -> [UInt8]? {
        let values = digits.map { value($0) }
        guard values.count.isMultiple(of: 2), !values.contains(nil) else { return nil }
        return stride(from: 0, to: values.count, by: 2).map {
            (values[$0] ?? 0) << 4 | (values[$0 + 1] ?? 0)
        }
    }

    /// Returns two digits per byte as text; not for keys, since a `String` cannot be cleared.
    package static func text(_ bytes: some Sequence<UInt8>) -> String {
        let digits = StaticString("0123456789abcdef").utf8Start
        var text: [UInt8] = []
        for byte in bytes {
            text.append(digits[Int(byte >> 4)])
            text.append(digits[Int(byte & 0x0f)])
        }
        return String(decoding: text, as: UTF8.self)
    }
}
