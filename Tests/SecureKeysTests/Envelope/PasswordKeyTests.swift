import Foundation
import SecureStorage
import Testing
import TestSupport

@testable import SecureKeys

struct PasswordKeyTests {
    @Test(arguments: [
        (13, 8, 8), (14, 8, 1), (14, 8, 3), (10, 8, 1), (1, 8, 1), (0, 8, 1), (-1, 8, 1),
        (17, 1, 1),
        (17, 0, 1), (17, -8, 1), (17, 8, 0), (17, 8, -1),
    ])
    func `parameters that make guessing cheap are refused`(
        _ exponent: Int, _ blockSize: Int, _ parallelism: Int
    ) throws {
        expectRefused(exponent, blockSize, parallelism)
    }

    @Test(arguments: [
        (21, 8, 1), (17, 8, 17), (20, 8, 2), (17, 1024, 1), (63, 8, 1), (64, 8, 1), (30, 1024, 16),
        (Int.max, 8, 1), (17, Int.max, 1), (17, 8, Int.max), (Int.min, Int.min, Int.min),
    ])
    func `parameters that would take too much memory or time are refused`(
        _ exponent: Int, _ blockSize: Int, _ parallelism: Int
    ) throws {
        expectRefused(exponent, blockSize, parallelism)
    }

    @Test func `the bounds themselves are accepted, and the default is 128 MiB`() throws {
        _ = try ScryptParameters(costExponent: 20, blockSize: 8, parallelism: 1)
        _ = try ScryptParameters(costExponent: 14, blockSize: 8, parallelism: 4)
        _ = try ScryptParameters(costExponent: 16, blockSize: 8, parallelism: 1)
        let parameters = ScryptParameters.default
        check(parameters.memory, equals: 128 << 20)
        try check(
            ScryptParameters(costExponent: 17, blockSize: 8, parallelism: 1), equals: parameters)
    }

    @Test func `edited parameters in a record are refused before anything is derived`() throws {
        let data = try DataEncryptionKey.random(name: "data")
        let password = try PasswordKey("hunter2", parameters: .cheapest)
        let bytes = try WrappedKey(wrapping: data, with: password.makeKey()).bytes
        // After the names: N as an exponent, r and p as 32 bits each.
        let place = 6 + 1 + 4 + 1 + 8
        check(bytes[place], equals: 14)
        for (exponent, blockSize, parallelism) in [
            (255, 8, 1), (31, 8, 1), (21, 8, 1), (0, 8, 1), (10, 8, 1), (14, 8, 1),
            (14, UInt32.max, 4), (14, 8, UInt32.max), (14, 0, 4), (14, 8, 0),
        ] as [(UInt8, UInt32, UInt32)] {
            var edited = Array(bytes)
            edited[place] = exponent
            for index in 0..<4 {
                let shift = UInt32(24 - 8 * index)
                edited[place + 1 + index] = UInt8(truncatingIfNeeded: blockSize >> shift)
                edited[place + 5 + index] = UInt8(truncatingIfNeeded: parallelism >> shift)
            }
            let start = ThreadTime.now
            let error = envelopeError {
                _ = try WrappedKey(bytes: SealedBytes.withChecksum(Data(edited)))
            }
            guard case .unacceptableParameters = error else {
                Issue.record(
                    "\(exponent) \(blockSize) \(parallelism): \(String(describing: error))")
                continue
            }
            check(ThreadTime.now - start < .seconds(2))
        }
    }

    @Test func `parameters and salt are authenticated, so other allowed ones do not unwrap`() throws
    {
        let data = try DataEncryptionKey.random(name: "data")
        let password = try PasswordKey("hunter2", parameters: .cheapest)
        let record = try WrappedKey(wrapping: data, with: password.makeKey())
        for place in [6 + 1 + 4 + 1 + 8, 6 + 1 + 4 + 1 + 8 + 9] {
            var bytes = record.bytes
            bytes[place] ^= 1  // N = 2^15, or another salt
            let edited = try WrappedKey(bytes: SealedBytes.withChecksum(bytes))
            #expect(throws: EnvelopeError.wrongPassword(name: "password")) {
                try edited.unwrap(with: password)
            }
        }
    }

    @Test func `each record has its own salt`() throws {
        let password = try PasswordKey("hunter2", parameters: .cheapest)
        let (one, two) = try (password.makeKey(), password.makeKey())
        check(one.origin != two.origin)
        try check(one.secret() != two.secret())
    }

    @Test func `a password is the same as text and as bytes, and an empty one is refused`() throws {
        let data = try DataEncryptionKey.random(name: "data")
        let composed = try PasswordKey("caf\u{e9}", parameters: .cheapest)
        let record = try WrappedKey(wrapping: data, with: composed.makeKey())
        let bytes = SecretBytes(copying: [0x63, 0x61, 0x66, 0xc3, 0xa9] as [UInt8])
        try check(record.unwrap(with: PasswordKey(bytes)).name, equals: "data")
        #expect(throws: EnvelopeError.wrongPassword(name: "password")) {
            try record.unwrap(with: PasswordKey("cafe"))
        }
        #expect(throws: EnvelopeError.unacceptableKey(reason: "the password is empty")) {
            try PasswordKey("").makeKey()
        }
    }

    private func expectRefused(_ exponent: Int, _ blockSize: Int, _ parallelism: Int) {
        let error = envelopeError {
            _ = try ScryptParameters(
                costExponent: exponent, blockSize: blockSize, parallelism: parallelism)
        }
        guard case .unacceptableParameters = error else {
            Issue.record("\(exponent) \(blockSize) \(parallelism) \(String(describing: error))")
            return
        }
    }
}
