#if os(Linux)
    import Foundation

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
            withBytes { bytes in
                guard let start = memory.baseAddress, let needle = bytes.baseAddress,
                    memory.count >= bytes.count
                else { return 0 }
                // Looks for a single byte first: not for 0, of which memory is full.
                let anchor = bytes.firstIndex { $0 != 0 && $0 != 0xff } ?? 0
                var place = start + anchor
                let end = place + (memory.count - bytes.count + 1)
                var count = 0
                while place < end, let found = memchr(place, Int32(bytes[anchor]), end - place) {
                    if memcmp(found - anchor, needle, bytes.count) == 0 { count += 1 }
                    place = UnsafeRawPointer(found) + 1
                }
                return count
            }
        }

        /// Calls `body` with the plain bytes, in a page that ``countInProcess()`` does not search,
        /// since it is not writable.
        private func withBytes<T>(_ body: (UnsafeRawBufferPointer) throws -> T) rethrows -> T {
            let mapped = mmap(
                nil, masked.count, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
            guard let page = mapped, page != MAP_FAILED else { fatalError("no memory") }
            let bytes = UnsafeMutableRawBufferPointer(start: page, count: masked.count)
            for (index, byte) in masked.enumerated() { bytes[index] = byte ^ Self.mask }
            mprotect(page, masked.count, PROT_READ)
            defer { munmap(page, masked.count) }
            return try body(UnsafeRawBufferPointer(bytes))
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
