package import Foundation

extension CommittedPages {
    /// What has been committed since the position before, until the next call.
    package struct Changes {
        /// The pages that have changed, in ascending order, each in its newest version.
        package let pages: [UInt32]
        /// The number of pages of the database.
        package let pageCount: Int
        /// The end of the last commit.
        package let end: LogPosition
        let pageSize: Int
        var place: Place

        /// Where the pages are.
        enum Place {
            case log(RawFile, offsets: [UInt32: Int], SnapshotReader)
            case memory(Data)
        }

        /// Returns the bytes of some of `pages`, one after the other.
        package func bytes(of pages: ArraySlice<UInt32>) throws -> Data {
            switch place {
            case .log(let log, let offsets, let reader):
                return try read(pages, log, offsets, reader)
            case .memory(let data):
                return data.subdata(
                    in: (pages.startIndex * pageSize)..<(pages.endIndex * pageSize))
            }
        }

        private func read(
            _ pages: ArraySlice<UInt32>, _ log: RawFile, _ offsets: [UInt32: Int],
            _ reader: SnapshotReader
        ) throws -> Data {
            var data = Data(count: pages.count * pageSize)
            try data.withUnsafeMutableBytes { bytes in
                for (index, page) in pages.enumerated() {
                    let part = UnsafeMutableRawBufferPointer(
                        rebasing: bytes[(index * pageSize)..<((index + 1) * pageSize)])
                    guard let offset = offsets[page],
                        try log.read(into: part, at: offset) == pageSize
                    else { throw CommittedPages.lostTrack }
                }
            }
            try reader.requireOpen()
            // A transaction that may hold only the file does not keep the log. Its header is
            // written before any frame.
            guard let header = try log.bytes(at: 0, count: WriteAheadLog.headerSize),
                LogPosition(atStartOf: header)?.salts == end.salts
            else { throw CommittedPages.lostTrack }
            return data
        }

        /// Reads all pages now, so that the log may be restarted.
        mutating func keep() throws { place = .memory(try bytes(of: pages[...])) }
    }
}
