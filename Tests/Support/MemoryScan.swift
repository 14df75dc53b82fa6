#if os(Linux)
    package import Foundation

    /// Bytes to search for in this process's memory, kept in a form that the search does not find.
    package struct Needle: Sendable {
        private static let mask: UInt8 = 0x5a
        private let masked: [UInt8]

        package init(_ bytes: some Collection<UInt8>) { masked = bytes.map { $0 ^ Self.mask } }

        /// The same bytes as hexadecimal digits, in lower case.
        package var hexadecimal: Needle {
            Needle(
                masked.lazy.flatMap { masked -> [UInt8] in
                    let byte = masked ^ Self.mask
                    return [byte >> 4, byte & 15].map { $0 < 10 ? $0 + 48 : $0 + 87 }
                })
        }

        /// Counts the occurrences of the bytes in `memory`.
        package func count(in memory: UnsafeRawBufferPointer) -> Int {
            guard var place = memory.baseAddress else { return 0 }
            let end = place + memory.count
            var count = 0
            while let found = memchr(place, Int32(masked[0] ^ Self.mask), end - place) {
                let candidate = UnsafeRawPointer(found)
                place = candidate + 1
                guard candidate + masked.count <= end else { break }
                let isEqual = masked.indices.allSatisfy {
                    (candidate + $0).load(as: UInt8.self) ^ Self.mask == masked[$0]
                }
                if isEqual { count += 1 }
            }
            return count
        }

        /// Counts the occurrences of the bytes in writable memory: heap, stacks, globals.
        package func countInProcess() throws -> Int {
            // String(contentsOfFile:) would stop after the first pages: the file reports no size.
            let maps = try FileHandle(forReadingFrom: URL(fileURLWithPath: "/proc/self/maps"))
                .readToEnd()
            let memory = open("/proc/self/mem", O_RDONLY)
            guard memory >= 0 else { throw CocoaError(.fileReadNoPermission) }
            defer { close(memory) }
            let chunk = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 16)
            defer { chunk.deallocate() }
            var count = 0
            for line in String(decoding: maps ?? Data(), as: UTF8.self).split(separator: "\n") {
                let fields = line.split(separator: " ")
                let bounds = fields[0].split(separator: "-").compactMap { UInt64($0, radix: 16) }
                guard fields[1].hasPrefix("rw"), bounds.count == 2 else { continue }
                var position = bounds[0]
                while position < bounds[1] {
                    let length = min(chunk.count, Int(bounds[1] - position))
                    let read = pread(memory, chunk.baseAddress, length, off_t(position))
                    guard read > 0 else { break }
                    count += self.count(in: UnsafeRawBufferPointer(rebasing: chunk[..<read]))
                    guard read == chunk.count else { break }
                    // An occurrence that spans two chunks is found in the second.
                    position += UInt64(read - masked.count + 1)
                }
            }
            chunk.initializeMemory(as: UInt8.self, repeating: 0)
            return count
        }
    }
#endif
