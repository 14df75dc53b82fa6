import TestSupport

#if os(Linux)
    import Foundation
    import SecureKeys
    import Testing

    /// Tests of secrets where the system grants little memory, each in a separate process.
    @Suite(.enabled(if: !Sanitizer.isPresent))
    struct SecretLimitsTests {
        @Test func `a user that may lock little memory can have as many secrets as others`() async {
            await #expect(processExitsWith: .success) {
                Limits.set(__RLIMIT_MEMLOCK, 64 << 10)
                // Root may lock any amount.
                if getuid() == 0 {
                    setgroups(0, nil)
                    setgid(65534)
                    setuid(65534)
                }
                check(mlockall(MCL_CURRENT) != 0, "the limit applies")
                Limits.expectWhole(Limits.secrets(20_000))
            }
        }

        @Test func `where no memory can be mapped, secrets are in ordinary memory`() async {
            await #expect(processExitsWith: .success) {
                let secrets = Limits.withoutMappings { Limits.secrets(5000) }
                Limits.expectWhole(secrets)
                // Slots and pages are aligned to 16.
                let ordinary = secrets.filter { secret in
                    secret.withUnsafeBytes { UInt(bitPattern: $0.baseAddress) % 16 != 0 }
                }
                check(ordinary.count > 1000)
                check(ordinary.contains { $0.count > 2048 })
                let needle = Needle((16..<48).map { Limits.byte(4999, $0) })
                let found = try needle.countInProcess()
                check(found > 0)
            }
        }

        @Test func `secrets in ordinary memory are cleared, too`() async throws {
            await #expect(processExitsWith: .success) {
                let needle = Needle((16..<48).map { Limits.byte(4999, $0) })
                var secrets = Limits.withoutMappings { Limits.secrets(5000) }
                let found = try needle.countInProcess()
                check(found > 0)
                secrets = []
                try check(needle.countInProcess(), equals: 0)
                check(secrets.isEmpty)
            }
        }
    }

    private enum Limits {
        static func set(_ limit: __rlimit_resource, _ value: rlim_t) {
            var limits = rlimit(rlim_cur: value, rlim_max: rlim_t.max)
            getrlimit(__rlimit_resource_t(limit.rawValue), &limits)
            limits.rlim_cur = min(value, limits.rlim_max)
            setrlimit(__rlimit_resource_t(limit.rawValue), &limits)
        }

        /// Lets `body` use only memory that the process has already.
        static func withoutMappings<R>(_ body: () -> R) -> R {
            // Freed before, except for the last block, so that the heap keeps them.
            var blocks = (0..<40_000).map { _ in malloc(200) }
            let last = blocks.removeLast()
            for block in blocks { free(block) }
            defer { free(last) }
            set(RLIMIT_AS, 0)
            defer { set(RLIMIT_AS, rlim_t.max) }
            return body()
        }

        static func byte(_ secret: Int, _ place: Int) -> UInt8 {
            UInt8(truncatingIfNeeded: (secret &* 31) ^ (place &* 7) &+ (secret >> 8))
        }

        /// Every thousandth has pages of its own.
        static func secrets(_ count: Int) -> [SecretBytes] {
            (0..<count).map { number in
                SecretBytes(count: number % 1000 == 999 ? 5000 : 48) { bytes in
                    for place in bytes.indices { bytes[place] = byte(number, place) }
                }
            }
        }

        static func expectWhole(_ secrets: [SecretBytes]) {
            for (number, secret) in secrets.enumerated() {
                let isWhole = secret.withUnsafeBytes { bytes in
                    bytes.indices.allSatisfy { bytes[$0] == byte(number, $0) }
                }
                check(isWhole, "secret \(number)")
            }
        }
    }
#endif
