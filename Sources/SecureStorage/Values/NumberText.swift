internal import Foundation

/// How SQLite spells a REAL as TEXT, and which TEXT is a number for it.
enum NumberText {
    /// The spelling of SQLite's [CAST to TEXT](https://sqlite.org/lang_expr.html#castexpr): 15
    /// significant digits, always with a fraction, as in `1.0`, `1.0e+15` and `-Inf`.
    static func text(of number: Double) -> String {
        guard number.isFinite else { return number < 0 ? "-Inf" : "Inf" }
        // SQLite has no negative zero.
        let text = String(format: "%.15g", number == 0 ? 0 : number)
        guard !text.contains(".") else { return text }
        let mantissa = text.prefix { $0 != "e" }
        return mantissa + ".0" + text.dropFirst(mantissa.count)
    }

    /// The number that a text spells, rounded to the nearest `Double`.
    ///
    /// Nil for what is a number for C or Swift, but not for SQLite: `0x10`, `nan`, `infinity`.
    static func number(in text: String) -> Double? {
        switch text {
        case "Inf": return .infinity
        case "-Inf": return -.infinity
        default: break
        }
        // Of the other spellings that Swift reads, each has a letter beside the exponent's.
        let isDecimal = text.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "-"),
                UInt8(ascii: "."), UInt8(ascii: "e"), UInt8(ascii: "E"):
                true
            default: false
            }
        }
        return isDecimal ? Double(text) : nil
    }
}
