/// A floating-point number's shortest form that keeps its value, as bits.
///
/// The 16-bit form is converted by hand: Swift's `Float16` is missing on Intel Macs.
enum CBORFloat: Equatable {
    case half(UInt16)
    case single(UInt32)
    case double(UInt64)

    /// Chooses the form; every NaN has the same one.
    init(_ value: Double) {
        if value.isNaN {
            self = .half(0x7e00)
        } else if let bits = Self.halfBits(of: value) {
            self = .half(bits)
        } else if Double(Float(value)) == value {
            self = .single(Float(value).bitPattern)
        } else {
            self = .double(value.bitPattern)
        }
    }

    var value: Double {
        switch self {
        case .half(let bits): Self.value(ofHalf: bits)
        case .single(let bits): Double(Float(bitPattern: bits))
        case .double(let bits): Double(bitPattern: bits)
        }
    }

    /// Returns the bits of a number that 16 bits hold exactly.
    private static func halfBits(of value: Double) -> UInt16? {
        let sign: UInt16 = value.sign == .minus ? 0x8000 : 0
        if value == 0 { return sign }
        if value.isInfinite { return sign | 0x7c00 }
        let magnitude = value.magnitude
        let exponent = magnitude.exponent
        guard (-24...15).contains(exponent) else { return nil }
        if exponent >= -14 {
            let fraction = (magnitude.significand - 1) * 1024
            guard fraction == fraction.rounded() else { return nil }
            return sign | UInt16(exponent + 15) << 10 | UInt16(fraction)
        }
        let fraction = magnitude * 0x1p24
        guard fraction == fraction.rounded() else { return nil }
        return sign | UInt16(fraction)
    }

    private static func value(ofHalf bits: UInt16) -> Double {
        let sign: Double = bits & 0x8000 == 0 ? 1 : -1
        let exponent = Int(bits >> 10 & 31)
        let fraction = Double(bits & 1023)
        switch exponent {
        case 0: return sign * fraction * 0x1p-24
        case 31: return fraction == 0 ? sign * .infinity : .nan
        default:
            return sign * (1 + fraction / 1024)
                * Double(sign: .plus, exponent: exponent - 15, significand: 1)
        }
    }
}
