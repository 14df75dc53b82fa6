internal import Foundation

/// Formats a REAL as TEXT and parses numeric TEXT as SQLite does.
enum NumberText {
    /// Returns the spelling of SQLite's [CAST to TEXT](https://sqlite.org/lang_expr.html#castexpr):
    /// 15 significant digits and always a fraction, as in `1.0`, `1.0e+15` and `-Inf`.
    static func text(of number: Double) -> String {
        guard number.isFinite else { return number < 0 ? "-Inf" : "Inf" }
        // SQLite has no negative zero.
        let text = String(format: "%.15g", number == 0 ? 0 : number)
        guard !text.contains(".") else { return text }
        let mantissa = text.prefix { $0 != "e" }
        return mantissa + ".0" + text.dropFirst(mantissa.count)
    }

    /// Returns the number that a text spells, rounded to the nearest `Double`.
    ///
    /// nil for spellings that C or Swift accepts but SQLite does not: `0x10`, `nan`, `infinity`.
    static func number(in text: String) -> Double? {
        switch text {
        case "Inf": return .infinity
        case "-Inf": return -.infinity
        default: break
        }
        // Every other spelling that Swift accepts contains a letter besides the exponent's.
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
