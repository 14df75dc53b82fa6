import Foundation
import Testing
import TestSupport

@testable import SecureStorage
@testable import SecureStorageTests

struct HostileArchiveTests {
    @Test func `the archive fixtures are present`() {
        check(ArchiveFixture.names("bad-").count > 80)
        check(ArchiveFixture.names("good-").count, equals: 5)
    }

    @Test(arguments: ArchiveFixture.names("bad-"))
    func `a hostile archive is an immediate error`(_ name: String) throws {
        let data = try ArchiveFixture.data(name)
        let start = ThreadTime.now

        let errors = ArchiveFixture.decodeAll(data)

        check(errors.allSatisfy { $0 == .typeConversionFailed }, "\(errors)")
        check(ThreadTime.now - start < .seconds(errors.count))
    }

    @Test(arguments: ["good-person.plist", "good-dictionary.plist"])
    func `an archive cut off anywhere is an error`(_ name: String) throws {
        let data = try ArchiveFixture.data(name)
        for length in 0..<data.count {
            let errors = ArchiveFixture.decodeAll(data.prefix(length))
            check(errors.allSatisfy { $0 == .typeConversionFailed }, "cut at \(length)")
        }
    }

    // Whether a changed archive is an error depends on the change; the point is that the process
    // survives. SECURESTORAGE_MUTATIONS makes the campaign longer.
    @Test func `a changed archive never ends the process`() throws {
        let environment = ProcessInfo.processInfo.environment["SECURESTORAGE_MUTATIONS"]
        let rounds = environment.flatMap { Int($0) } ?? 3000
        let archives = try ArchiveFixture.names("good-").map { try ArchiveFixture.data($0) }
        try require(archives.count == 5)
        var random = SplitMix64(seed: 20_240_601)
        var refused = 0
        for round in 0..<rounds {
            var data = archives[round % archives.count]
            for _ in 0...Int.random(in: 0..<4, using: &random) {
                data.mutate(using: &random)
            }
            refused += ArchiveFixture.decodeAll(data).contains(nil) ? 0 : 1
        }
        check(refused > rounds / 4)
        check(refused < rounds)
    }
}

extension Data {
    /// Changes, inserts, removes, copies or swaps bytes.
    fileprivate mutating func mutate(using random: inout SplitMix64) {
        guard count > 1 else { return }
        let place = Int.random(in: 0..<count, using: &random)
        switch Int.random(in: 0..<6, using: &random) {
        case 0: self[place] = UInt8.random(in: 0...255, using: &random)
        case 1: self[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
        case 2: insert(UInt8.random(in: 0...255, using: &random), at: place)
        case 3: remove(at: place)
        case 4: self[place] = self[Int.random(in: 0..<count, using: &random)]
        default: swapAt(place, Int.random(in: 0..<count, using: &random))
        }
    }
}
