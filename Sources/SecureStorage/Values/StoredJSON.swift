internal import Foundation

/// `Codable` values as JSON, nested no deeper than a small stack allows.
///
/// Foundation's coders call themselves for each level, and read up to 512 of them. On a stack of
/// 512 KiB, which is what threads have by default on Apple platforms, a debug build ends at about
/// 160 levels: any file could end the process.
enum StoredJSON {
    /// Arrays and objects inside each other, as in property lists and archives.
    static let maximumDepth = 64

    /// The JSON of a value.
    ///
    /// - Throws: What the encoder throws; `.typeConversionFailed` for a value that is nested too
    ///   deep.
    static func encode<T: Encodable>(_ value: T, with encoder: JSONEncoder) throws -> Data {
        try NestingProbe.check(value)
        let json = try encoder.encode(value)
        // What cannot be read is not written.
        try requireDepth(of: json)
        return json
    }

    /// The value of JSON.
    ///
    /// - Throws: What the decoder throws; `.typeConversionFailed` for JSON that is nested too deep,
    ///   and for bytes that are not UTF-8 but of another encoding that the decoder knows.
    static func decode<T: Decodable>(
        _ type: T.Type, from json: Data, with decoder: JSONDecoder
    ) throws -> T {
        try requireDepth(of: json)
        return try decoder.decode(type, from: json)
    }

    private static func requireDepth(of json: Data) throws {
        var depth = 0
        var isInText = false
        var isEscaped = false
        for byte in json {
            switch byte {
            // JSON in UTF-16 or UTF-32 has some; in UTF-8 it has none.
            case 0: throw SecureStorageError.typeConversionFailed
            case _ where isEscaped: isEscaped = false
            case UInt8(ascii: "\\"): isEscaped = isInText
            case UInt8(ascii: "\""): isInText.toggle()
            case _ where isInText: break
            case UInt8(ascii: "["), UInt8(ascii: "{"):
                depth += 1
                guard depth <= maximumDepth else { throw SecureStorageError.typeConversionFailed }
            case UInt8(ascii: "]"), UInt8(ascii: "}"): depth -= 1
            default: break
            }
        }
    }
}
