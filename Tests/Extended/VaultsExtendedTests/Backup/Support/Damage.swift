import Foundation
import TestSupport
@testable import VaultsTests

/// Modifies bytes as accidents and attackers do, reproducibly from a seed.
struct Damage {
    /// A failure can be reproduced from its seed.
    var generator: SplitMix64

    init(seed: UInt64) { generator = SplitMix64(seed: seed) }

    /// Returns `original`, modified anywhere but in its first `protected` bytes.
    ///
    /// Parts may come from `others`, and parts of `chunk` bytes may be swapped as a whole.
    mutating func change(
        _ original: Data, _ others: [Data], protected: Int = 0, chunk: Int = 64
    ) -> Data {
        guard original.count > protected + 1 else { return original + Data([0]) }
        while true {
            let changed = changeOnce(original, others, protected, chunk)
            if changed != original { return changed }
        }
    }

    private mutating func changeOnce(
        _ original: Data, _ others: [Data], _ protected: Int, _ chunk: Int
    ) -> Data {
        var bytes = original
        let places = protected..<original.count
        func place(_ generator: inout SplitMix64) -> Int {
            Int.random(in: places, using: &generator)
        }
        let one = place(&generator)
        switch Int.random(in: 0..<9, using: &generator) {
        case 0:
            bytes[one] ^= 1 << UInt8.random(in: 0..<8, using: &generator)
        case 1:
            bytes = bytes.prefix(one)
        case 2:
            bytes.append(contentsOf: RandomAccess.bytes(1 + one % 40, &generator))
        case 3:
            bytes.swapAt(one, place(&generator))
        case 4:
            bytes[one] = [0, 1, 0x7f, 0x80, 0xff].randomElement(using: &generator) ?? 0
        case 5:
            // Remove a range.
            bytes.removeSubrange(one..<min(bytes.count, one + 1 + place(&generator) % chunk))
        case 6:
            // The beginning of one, the end of another.
            let other = others.randomElement(using: &generator) ?? bytes
            bytes = bytes.prefix(one) + other.dropFirst(min(one, other.count))
        case 7:
            // Swap two chunks.
            let count = (original.count - protected) / chunk
            guard count > 1 else { return bytes }
            let starts = (0..<2).map { _ in
                protected + Int.random(in: 0..<count, using: &generator) * chunk
            }
            let parts = starts.map { original[$0..<($0 + chunk)] }
            bytes.replaceSubrange(starts[0]..<(starts[0] + chunk), with: parts[1])
            bytes.replaceSubrange(starts[1]..<(starts[1] + chunk), with: parts[0])
        default:
            for _ in 0..<8 {
                bytes[place(&generator)] = UInt8.random(in: 0...255, using: &generator)
            }
        }
        return Data(bytes)
    }

    private enum RandomAccess {
        static func bytes(_ count: Int, _ generator: inout SplitMix64) -> [UInt8] {
            (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) }
        }
    }
}
