internal import Foundation
internal import ObjectStores

/// The names of a mirror's objects.
///
/// Numbers have 16 hexadecimal digits, so that the order of the names is theirs.
struct MirrorNames: Sendable {
    let mirror: String

    /// - Throws: `.store(.invalidName)`.
    init(_ mirror: String) throws {
        guard ObjectName.isValid(mirror) else { throw MirrorError(.invalidName(mirror)) }
        self.mirror = mirror
    }

    var generations: String { "\(mirror)/generations/" }
    func generation(_ number: UInt64) -> String { generations + Self.text(number) }

    var thinned: String { "\(mirror)/thinned/" }
    func thinned(_ number: UInt64) -> String { thinned + Self.text(number) }

    func snapshot(_ generation: UInt64) -> String { "\(mirror)/\(Self.text(generation))/snapshot/" }
    func part(_ number: UInt64, of generation: UInt64) -> String {
        snapshot(generation) + Self.text(number)
    }
    func manifest(of generation: UInt64) -> String { snapshot(generation) + "manifest" }

    /// How much time the segments of a generation's log stand for.
    enum Level: String, CaseIterable, Sendable {
        case hours, minutes, log
    }

    func segments(_ level: Level, of generation: UInt64) -> String {
        "\(mirror)/\(Self.text(generation))/\(level.rawValue)/"
    }
    func segment(
        _ numbers: ClosedRange<UInt64>, _ level: Level = .log, of generation: UInt64
    ) -> String {
        segments(level, of: generation) + Self.text(numbers.lowerBound) + "-"
            + Self.text(numbers.upperBound)
    }

    /// The beginning of the names of everything but the beginnings of generations.
    func everything(of generation: UInt64) -> String { "\(mirror)/\(Self.text(generation))/" }

    /// Returns the mirror that an object's name belongs to, whether the object begins a generation,
    /// and a name from which on other objects of the store are listed, or the mirror's beginnings.
    static func place(of name: String) -> (mirror: String, isBeginning: Bool, next: String)? {
        let words = name.split(separator: "/")
        for (index, word) in words.enumerated().dropFirst() where index + 1 < words.count {
            let mirror = words[..<index].joined(separator: "/")
            switch word {
            case "generations", "thinned":
                guard index + 2 == words.count, number(in: name) != nil else { continue }
                // `0` follows `/`.
                return (mirror, word == "generations", "\(mirror)/\(word)0")
            default:
                let kind = words[index + 1]
                guard number(word) != nil,
                    kind == "snapshot" || Level(rawValue: String(kind)) != nil
                else { continue }
                return (mirror, false, "\(mirror)/generations")
            }
        }
        return nil
    }

    static func text(_ number: UInt64) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }

    /// Returns the number at the end of a name; nil for another name.
    static func number(in name: String) -> UInt64? {
        name.split(separator: "/").last.flatMap { number($0) }
    }

    private static func number(_ digits: Substring) -> UInt64? {
        guard let number = UInt64(digits, radix: 16), isValid(number),
            text(number).utf8.elementsEqual(digits.utf8)
        else { return nil }
        return number
    }

    /// Whether the numbers before and after it exist as well: stores are not trusted.
    static func isValid(_ number: UInt64) -> Bool { (1...UInt64(Int64.max)).contains(number) }

    /// Returns the numbers of a segment's name; nil for another name.
    static func numbers(in name: String) -> ClosedRange<UInt64>? {
        let words = name.split(separator: "/").last?.split(separator: "-") ?? []
        guard words.count == 2, let first = number(words[0]), let last = number(words[1]),
            first <= last
        else { return nil }
        return first...last
    }
}
