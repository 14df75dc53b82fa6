/// The parameters of scrypt, which set the cost of guessing a password.
///
/// They are stored in the record that the password wraps, and checked when they are read, before
/// anything is derived: an attacker who edits them can neither make guessing cheap nor exhaust the
/// memory.
///
/// Defined in [RFC 7914](https://www.rfc-editor.org/rfc/rfc7914).
public struct ScryptParameters: Sendable, Equatable {
    /// The exponent of N = 2^`costExponent`, the number of steps and of blocks in memory.
    public let costExponent: Int

    /// r: the block size, in units of 128 bytes.
    public let blockSize: Int

    /// p: how many times the whole computation is repeated.
    public let parallelism: Int

    /// N = 2¹⁷, r = 8, p = 1: 128 MiB of memory, and about half a second.
    public static let `default` = ScryptParameters(uncheckedExponent: 17, 8, 1)

    /// Creates parameters that are neither too weak nor too costly.
    ///
    /// - Parameters:
    ///   - costExponent: N is two to this power.
    ///   - blockSize: r, at least 8.
    ///   - parallelism: p, 1 to 16.
    /// - Throws: `EnvelopeError.unacceptableParameters` unless the memory, 128·N·r bytes, is 16 MiB
    ///   to 1 GiB, and the work, N·r·p, is half to eight times that of the default.
    public init(costExponent: Int, blockSize: Int, parallelism: Int) throws {
        func refuse(_ reason: String) -> EnvelopeError { .unacceptableParameters(reason: reason) }
        // Check each range first, so that none of the products below can overflow.
        guard (1...30).contains(costExponent) else { throw refuse("N = 2^\(costExponent)") }
        guard (8...1024).contains(blockSize) else {
            throw refuse("r = \(blockSize); the usual value is 8")
        }
        guard (1...16).contains(parallelism) else {
            throw refuse("p = \(parallelism); the usual value is 1")
        }
        self.init(uncheckedExponent: costExponent, blockSize, parallelism)
        guard memory >= 16 << 20, work >= Self.default.work / 2 else {
            throw refuse("\(self) makes guessing too cheap; use the default")
        }
        guard memory <= 1 << 30, work <= Self.default.work * 8 else {
            throw refuse("\(self) would take too much memory or time; use the default")
        }
    }

    private init(uncheckedExponent exponent: Int, _ blockSize: Int, _ parallelism: Int) {
        costExponent = exponent
        self.blockSize = blockSize
        self.parallelism = parallelism
    }

    /// The memory one derivation needs, in bytes.
    public var memory: Int { 128 * cost * blockSize }

    /// Whether a guess costs less memory or less work than with the current default, and not more
    /// of the other.
    ///
    /// ``WrappedKeySet/upgrade(unlocking:)`` then rewraps the key.
    public var needsUpgrade: Bool { isWeaker(than: .default) }

    package var cost: Int { 1 << costExponent }

    private var work: Int { cost * blockSize * parallelism }

    /// Less of one and not more of the other, so two programs with different settings do not keep
    /// replacing each other's record.
    package func isWeaker(than other: ScryptParameters) -> Bool {
        memory <= other.memory && work <= other.work
            && (memory, work) != (other.memory, other.work)
    }
}

extension ScryptParameters: CustomStringConvertible {
    /// The parameters by their usual names.
    public var description: String {
        "scrypt with N = 2^\(costExponent), r = \(blockSize), p = \(parallelism)"
    }
}
