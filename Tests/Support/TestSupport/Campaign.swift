internal import Foundation

/// What `Scripts/campaign` asks of the tests that it repeats.
///
/// How many rounds, from which seed, and which part of them; without it, a test runs a few rounds.
package enum Campaign {
    /// The seed of random choices: `SECURESTORAGE_SEED`, or a new one in each process.
    ///
    /// What fails has to name it.
    package static let seed =
        number("SECURESTORAGE_SEED").map(UInt64.init) ?? .random(in: 0...1 << 40)

    /// Returns how many rounds a variable of the campaign asks for, or the usual number.
    package static func count(_ name: String, usually usual: Int) -> Int { number(name) ?? usual }

    /// Returns the random numbers of a round, which are the same in each run with the same seed.
    package static func random(_ round: Int = 0) -> SplitMix64 {
        SplitMix64(seed: seed &+ UInt64(truncatingIfNeeded: round) &* 0x9E37_79B9_7F4A_7C15)
    }

    /// Returns the seeds of a campaign's rounds, from its seed on: without it, from 1.
    package static func seeds(_ count: Int) -> [UInt64] {
        let first = number("SECURESTORAGE_SEED").map(UInt64.init) ?? 1
        return part(of: first..<first + UInt64(count))
    }

    /// Returns the cases of `SECURESTORAGE_PART`: with `2/8`, every eighth from the second on.
    ///
    /// All parts together are all cases, each once.
    package static func part<Case>(of cases: some Sequence<Case>) -> [Case] {
        let (number, count) = part
        return cases.enumerated().filter { $0.offset % count == number - 1 }.map(\.element)
    }

    /// The part, from 1 on, and how many there are.
    package static var part: (number: Int, of: Int) {
        let text = ProcessInfo.processInfo.environment["SECURESTORAGE_PART"] ?? "1/1"
        let numbers = text.split(separator: "/").compactMap { Int($0) }
        guard numbers.count == 2, numbers[1] > 0, 1...numbers[1] ~= numbers[0] else {
            fatalError("SECURESTORAGE_PART=\(text) is no part, such as 2/8")
        }
        return (numbers[0], numbers[1])
    }

    private static func number(_ name: String) -> Int? {
        ProcessInfo.processInfo.environment[name].flatMap { Int($0) }
    }
}
