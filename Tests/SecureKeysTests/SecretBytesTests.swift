import Foundation
import SecureKeys
import TestSupport
import Testing

struct SecretBytesTests {
    @Test func `a secret holds the given bytes`() {
        let secret = SecretBytes(utf8: "a\0é")
        check(secret.withUnsafeBytes { Array($0) }, equals: [0x61, 0, 0xc3, 0xa9])
        check(SecretBytes(utf8: "").count, equals: 0)
        check(SecretBytes(copying: Data([1, 2])), equals: SecretBytes(copying: [1, 2] as [UInt8]))
    }

    @Test func `a source whose bytes were moved is empty and overwritten`() {
        var data = Data("hunter2".utf8)
        var bytes = Array("hunter2".utf8)
        check(SecretBytes(erasing: &data), equals: SecretBytes(utf8: "hunter2"))
        check(data.isEmpty)
        bytes.reserveCapacity(100)
        check(SecretBytes(erasing: &bytes), equals: SecretBytes(utf8: "hunter2"))
        check(bytes.isEmpty)
        var empty = Data()
        check(SecretBytes(erasing: &empty).count, equals: 0)
    }

    @Test func `secrets are equal if all of their bytes are`() {
        let secret = SecretBytes(utf8: "hunter2")
        check(secret, equals: SecretBytes(utf8: "hunter2"))
        for other in ["hunter1", "Hunter2", "hunter22", ""] {
            check(secret != SecretBytes(utf8: other))
        }
        check(SecretBytes(utf8: ""), equals: SecretBytes(utf8: ""))
    }

    @Test func `random secrets differ`() {
        let secrets = (0..<100).map { _ in SecretBytes.random(count: 32) }
        for (index, secret) in secrets.enumerated() {
            check(secret.count, equals: 32)
            check(!secrets[..<index].contains(secret))
        }
    }

    #if os(Linux)
        @Test func `a secret is locked in memory and left out of a core dump`() throws {
            let secret = SecretBytes(utf8: "hunter2")
            let flags = try secret.withUnsafeBytes { try Self.flags(of: $0.baseAddress) }
            check(flags.contains("dd"))
            // The secret is locked if this process may lock memory at all, which sanitizers do not
            // allow.
            let page = UnsafeMutableRawPointer.allocate(byteCount: 4096, alignment: 4096)
            defer { page.deallocate() }
            mlock(page, 4096)
            let canLock = try Self.flags(of: page).contains("lo")
            munlock(page, 4096)
            check(flags.contains("lo"), equals: canLock)
        }

        /// Returns the kernel's flags of the mapping that contains `address`.
        private static func flags(of address: UnsafeRawPointer?) throws -> [Substring] {
            let maps = try FileHandle(
                forReadingFrom: URL(fileURLWithPath: "/proc/self/smaps")
            ).readToEnd()
            var isInside = false
            for line in String(decoding: maps ?? Data(), as: UTF8.self).split(separator: "\n") {
                let fields = line.split(separator: " ")
                let bounds = fields[0].split(separator: "-").compactMap { UInt($0, radix: 16) }
                if bounds.count == 2 {
                    isInside = (bounds[0]..<bounds[1]).contains(UInt(bitPattern: address))
                }
                if isInside, fields[0] == "VmFlags:" { return fields }
            }
            return []
        }
    #endif

    @Test func `secrets of all sizes keep their bytes beside those of other threads`() {
        let damaged = Gathered<Int>()
        onThreads(4) { thread in
            var random = SplitMix64(seed: UInt64(thread))
            var secrets: [SecretBytes?] = Array(repeating: nil, count: 300)
            func byte(_ index: Int) -> UInt8 { UInt8(truncatingIfNeeded: index &* 31 &+ thread) }
            for _ in 0..<5_000 {
                let index = Int.random(in: secrets.indices, using: &random)
                if let secret = secrets[index] {
                    let isWhole = secret.withUnsafeBytes { $0.allSatisfy { $0 == byte(index) } }
                    if !isWhole { damaged.add(index) }
                    secrets[index] = nil
                } else {
                    // Across the limit between shared pages and pages of its own.
                    let count = Int.random(in: 0...([40, 300, 5000].randomElement() ?? 0))
                    secrets[index] = SecretBytes(count: count) { bytes in
                        if bytes.contains(where: { $0 != 0 }) { damaged.add(-1) }
                        for place in bytes.indices { bytes[place] = byte(index) }
                    }
                }
            }
        }
        check(damaged.values, equals: [])
    }

    #if os(Linux)
        @Test func `the pages of secrets end before one that cannot be accessed`() throws {
            let secrets = (0..<5000).map { _ in SecretBytes.random(count: 32) }
            let maps = try FileHandle(forReadingFrom: URL(fileURLWithPath: "/proc/self/maps"))
                .readToEnd()
            let lines = String(decoding: maps ?? Data(), as: UTF8.self).split(separator: "\n")
            let bounds = lines.map(Self.bounds)
            let pages = Set(
                secrets.map { $0.withUnsafeBytes { UInt(bitPattern: $0.baseAddress) & ~4095 } })
            for page in pages {
                let place = try require(bounds.firstIndex { $0.contains(page) })
                try require(bounds[place].upperBound == bounds[place + 1].lowerBound)
                check(lines[place + 1].split(separator: " ")[1].hasPrefix("---"))
            }
        }

        private static func bounds(_ line: Substring) -> Range<UInt> {
            let ends = line.prefix { $0 != " " }.split(separator: "-").compactMap {
                UInt($0, radix: 16)
            }
            return ends.count == 2 ? ends[0]..<ends[1] : 0..<0
        }

        @Test(.enabled(if: !Sanitizer.isPresent, "a sanitizer adds memory to each object"))
        func
            `a million secrets live at once in 100 bytes each, and none is found when they are gone`()
            async
        {
            await #expect(processExitsWith: .success) { try SecretBytesTests.makeAMillion() }
        }

        private static func makeAMillion() throws {
            let count = 1_000_000
            let needle = Needle((0..<32).map { UInt8(truncatingIfNeeded: 200 &+ $0 &* 7) })
            var secrets: [SecretBytes] = []
            secrets.reserveCapacity(count)
            let before = Self.residentBytes()
            for _ in 0..<count {
                secrets.append(
                    SecretBytes(count: 32) { bytes in
                        for place in bytes.indices {
                            bytes[place] = UInt8(truncatingIfNeeded: 200 &+ place &* 7)
                        }
                    })
            }
            let each = Double(Self.residentBytes() - before) / Double(count)
            print("each of a million secrets takes \(each) bytes")
            check(each <= 100)
            try check(needle.countInProcess() >= count, "the search finds what is there")
            secrets = []
            try check(needle.countInProcess(), equals: 0)
        }

        private static func residentBytes() -> Int {
            let file = try? FileHandle(forReadingFrom: URL(fileURLWithPath: "/proc/self/statm"))
            let text = String(decoding: (try? file?.readToEnd()) ?? Data(), as: UTF8.self)
            return text.split(separator: " ").dropFirst().first.flatMap { Int($0) }.map {
                $0 * Int(sysconf(Int32(_SC_PAGESIZE)))
            } ?? 0
        }
    #endif
}
