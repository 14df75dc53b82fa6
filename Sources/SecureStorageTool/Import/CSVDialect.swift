/// What separates the fields and the lines of a CSV file.
struct CSVDialect {
    var delimiter = UInt8(ascii: ",")
    /// A line feed, which a carriage return may precede; or that alone.
    var lineEnd = Self.lineFeed

    private static let lineFeed = UInt8(ascii: "\n")
    private static let carriageReturn = UInt8(ascii: "\r")
    private static let delimiters: [UInt8] = [",", ";", "\t", "|"].map { UInt8(ascii: $0) }
    /// The part of the file that decides.
    private static let sampleSize = 64 * 1024
    private static let mostRecords = 100

    init() {}

    /// Finds out what the file has, except for a delimiter that is given.
    init(of input: InputFile, delimiter: UInt8?) throws {
        lineEnd = try Self.lineEnd(of: input)
        if let delimiter {
            self.delimiter = delimiter
            return
        }
        var best = (share: 0.0, fields: 1)
        for delimiter in Self.delimiters {
            var dialect = self
            dialect.delimiter = delimiter
            let found = try dialect.regularity(of: input)
            guard found.fields > 1, found > best else { continue }
            best = found
            self.delimiter = delimiter
        }
    }

    /// Returns a carriage return if no line ends with a line feed.
    private static func lineEnd(of input: InputFile) throws -> UInt8 {
        try input.preview(limit: sampleSize) {
            var chunk: [UInt8] = []
            var isQuoted = false
            var hasReturn = false
            while true {
                try input.read(into: &chunk)
                if chunk.isEmpty { return hasReturn ? carriageReturn : lineFeed }
                for byte in chunk {
                    if byte == UInt8(ascii: "\"") { isQuoted.toggle() }
                    guard !isQuoted else { continue }
                    if byte == lineFeed { return lineFeed }
                    if byte == carriageReturn { hasReturn = true }
                }
            }
        }
    }

    /// Returns the share of the first records that have as many fields as the very first one, and
    /// the number of those.
    private func regularity(of input: InputFile) throws -> (share: Double, fields: Int) {
        try input.preview(limit: Self.sampleSize) {
            var reader = CSVReader(input, self)
            var counts: [Int] = []
            do {
                while counts.count < Self.mostRecords, try reader.advance() {
                    if !reader.isBlankLine { counts.append(reader.fieldCount) }
                }
            } catch let failure as Failure where failure.kind == .failed {
                // A quote in a wrong place, as other delimiters make it: no record.
                counts.append(0)
            }
            // The sample may end within a record.
            if input.isPreviewCut, counts.count > 1 { counts.removeLast() }
            let first = counts.first ?? 0
            let same = counts.count { $0 == first }
            return (Double(same) / Double(max(1, counts.count)), first)
        }
    }

    /// The delimiter for people.
    var delimiterName: String {
        delimiter == UInt8(ascii: "\t")
            ? "tabs" : "\"\(Character(Unicode.Scalar(delimiter)))\""
    }
}
