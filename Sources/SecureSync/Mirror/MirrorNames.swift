internal import Foundation

/// The names of a mirror's objects.
///
/// Numbers have 16 hexadecimal digits, so that the order of the names is theirs.
struct MirrorNames: Sendable {
    let mirror: String

    /// - Throws: `.invalidName`.
    init(_ mirror: String) throws {
        try SyncObjectName.check(mirror)
        self.mirror = mirror
    }

    var generations: String { "\(mirror)/generations/" }
    func generation(_ number: UInt64) -> String { generations + Self.text(number) }

    func snapshot(_ generation: UInt64) -> String { "\(mirror)/\(Self.text(generation))/snapshot/" }
    func part(_ number: UInt64, of generation: UInt64) -> String {
        snapshot(generation) + Self.text(number)
    }
    func manifest(of generation: UInt64) -> String { snapshot(generation) + "manifest" }

    func log(_ generation: UInt64) -> String { "\(mirror)/\(Self.text(generation))/log/" }
    func segment(_ numbers: ClosedRange<UInt64>, of generation: UInt64) -> String {
        "\(log(generation))\(Self.text(numbers.lowerBound))-\(Self.text(numbers.upperBound))"
    }

    static func text(_ number: UInt64) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }

    /// Returns the number at the end of a name; nil for another name.
    static func number(in name: String) -> UInt64? {
        let digits = name.utf8.suffix(16)
        guard digits.count == 16 else { return nil }
        return UInt64(String(decoding: Array(digits), as: UTF8.self), radix: 16)
    }

    /// Returns the numbers of a segment's name; nil for another name.
    static func numbers(in name: String) -> ClosedRange<UInt64>? {
        let words = name.split(separator: "/").last?.split(separator: "-") ?? []
        guard words.count == 2, words.allSatisfy({ $0.utf8.count == 16 }),
            let first = UInt64(words[0], radix: 16), let last = UInt64(words[1], radix: 16),
            first <= last
        else { return nil }
        return first...last
    }
}
