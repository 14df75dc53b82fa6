/// Recomputes the checksums of a write-ahead log, which need no key.
///
/// See [SQLite's file format](https://sqlite.org/fileformat2.html#the_write_ahead_log).
enum LogChecksums {
    static func repair(_ log: inout [UInt8], pageSize: Int) {
        let isBigEndian = log[3] & 1 == 1
        var sum: (UInt32, UInt32) = (0, 0)
        func add(_ bytes: ArraySlice<UInt8>) {
            var words = stride(from: bytes.startIndex, to: bytes.endIndex, by: 4).map { start in
                let word = bytes[start..<(start + 4)].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
                return isBigEndian ? word : word.byteSwapped
            }[...]
            while let first = words.popFirst(), let second = words.popFirst() {
                sum.0 &+= first &+ sum.1
                sum.1 &+= second &+ sum.0
            }
        }
        func store(at offset: Int) {
            for (index, word) in [sum.0, sum.1].enumerated() {
                for byte in 0..<4 {
                    log[offset + 4 * index + byte] = UInt8(
                        truncatingIfNeeded: word >> UInt32(24 - 8 * byte))
                }
            }
        }
        add(log[..<24])
        store(at: 24)
        for start in stride(from: 32, to: log.count - pageSize, by: 24 + pageSize) {
            add(log[start..<(start + 8)])
            add(log[(start + 24)..<(start + 24 + pageSize)])
            store(at: start + 16)
        }
    }
}
