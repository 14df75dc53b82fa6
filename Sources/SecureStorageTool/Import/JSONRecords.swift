/// Divides JSON into the texts of its objects: one in each line, or those of an array.
struct JSONRecords {
    enum Form {
        /// A line is an object, or an error of its own.
        case lines
        /// An array, or one object after the other, over any lines.
        case values
    }

    /// A text that has to be an object, and the line, from 1, at which it begins.
    struct Record {
        var bytes: [UInt8] = []
        var line = 1
    }

    let form: Form
    private let input: InputFile
    private var chunk: [UInt8] = []
    private var next = 0
    private var line = 1
    private var lastByte: UInt8 = 0

    private enum Place {
        case start, values
        /// In an array: before the first element, after a comma, after an element.
        case first, element, separator
        case end
    }
    private var place = Place.start

    /// Begins with the input; `isArray` says whether an object may have several lines.
    init(_ input: InputFile, isArray: Bool) throws {
        self.input = input
        var first: UInt8?
        if !isArray {
            // An array is recognised in any case.
            first = try input.preview(limit: 4096) {
                var chunk: [UInt8] = []
                try input.read(into: &chunk)
                return chunk.first { !Self.isBlank($0) }
            }
        }
        form = isArray || first == UInt8(ascii: "[") ? .values : .lines
    }

    /// Replaces the record with the next one; returns false at the end.
    mutating func advance(to record: inout Record) throws -> Bool {
        record.bytes.removeAll(keepingCapacity: true)
        switch form {
        case .lines:
            repeat {
                guard try readLine(&record) else { return false }
            } while record.bytes.allSatisfy(Self.isBlank)
            return true
        case .values: return try readValue(&record)
        }
    }

    /// Returns the next byte, and counts lines; nil at the end.
    private mutating func takeByte() throws -> UInt8? {
        if next == chunk.count {
            try input.read(into: &chunk)
            next = 0
            if chunk.isEmpty { return nil }
        }
        let byte = chunk[next]
        next += 1
        // A carriage return and a line feed are one end.
        if byte == 0x0d || (byte == 0x0a && lastByte != 0x0d) { line += 1 }
        lastByte = byte
        return byte
    }

    /// Returns false at the end of the input.
    private mutating func readLine(_ record: inout Record) throws -> Bool {
        record.bytes.removeAll(keepingCapacity: true)
        record.line = line
        while let byte = try takeByte() {
            // Neither can be in a JSON text, except as a blank.
            if byte == 0x0a || byte == 0x0d { return true }
            record.bytes.append(byte)
            let from = next
            while next < chunk.count, chunk[next] != 0x0a, chunk[next] != 0x0d { next += 1 }
            record.bytes.append(contentsOf: chunk[from..<next])
            lastByte = 0
        }
        return !record.bytes.isEmpty
    }

    /// Returns false at the end of the input or of the array.
    private mutating func readValue(_ record: inout Record) throws -> Bool {
        while let byte = try takeByte() {
            if Self.isBlank(byte) { continue }
            switch (place, Unicode.Scalar(byte)) {
            case (.start, "["): place = .first
            case (.first, "]"), (.separator, "]"): place = .end
            case (.separator, ","): place = .element
            case (.start, "{"), (.values, "{"):
                place = .values
                return try readObject(&record)
            case (.first, "{"), (.element, "{"):
                place = .separator
                return try readObject(&record)
            case (.end, _): throw wrong("text follows the array")
            case (.separator, _): throw wrong("missing comma or end of the array")
            default:
                throw wrong(
                    "an array of objects is needed, or objects",
                    hint: "jq can bring other JSON into that form")
            }
        }
        guard [.start, .values, .end].contains(place) else { throw wrong("unterminated array") }
        return false
    }

    /// Reads up to the brace that closes the object, whose first one is read.
    private mutating func readObject(_ record: inout Record) throws -> Bool {
        record.line = line
        record.bytes.append(UInt8(ascii: "{"))
        var depth = 1
        var isInString = false
        var isEscaped = false
        while let byte = try takeByte() {
            record.bytes.append(byte)
            if isEscaped {
                isEscaped = false
            } else if byte == UInt8(ascii: "\"") {
                isInString.toggle()
            } else if isInString {
                isEscaped = byte == UInt8(ascii: "\\")
            } else if byte == UInt8(ascii: "{") {
                depth += 1
            } else if byte == UInt8(ascii: "}") {
                depth -= 1
                if depth == 0 { return true }
            }
        }
        // Its error says what is missing.
        return true
    }

    private func wrong(_ what: String, hint: String? = nil) -> Failure {
        Failure("line \(line): \(what); nothing was imported", hint: hint, .data)
    }

    private static func isBlank(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x0a || byte == 0x0d || byte == 0x09
    }
}
