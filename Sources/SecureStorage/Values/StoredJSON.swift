internal import Foundation

/// Encodes and decodes `Codable` values as JSON, with a nesting depth that fits a small stack.
///
/// Foundation's coders recurse for each level and read up to 512 levels. On a 512 KiB stack, the
/// default for threads on Apple platforms, a debug build overflows at about 160 levels: any file
/// could end the process.
enum StoredJSON {
    /// The maximum nesting depth of arrays and objects, as in property lists and archives.
    static let maximumDepth = 64

    /// Returns the JSON of a value.
    ///
    /// - Throws: Errors of the encoder; `.typeConversionFailed` for a value nested too deeply.
    static func encode<T: Encodable>(_ value: T, with encoder: JSONEncoder) throws -> Data {
        try NestingProbe.check(value)
        let json = try encoder.encode(value)
        // Do not write JSON that could not be read.
        try requireDepth(of: json)
        return json
    }

    /// Decodes a value from JSON.
    ///
    /// - Throws: Errors of the decoder; `.typeConversionFailed` for JSON that is nested too deeply,
    ///   and for bytes in an encoding other than UTF-8 that the decoder would accept.
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
            // UTF-16 and UTF-32 JSON contains zero bytes, UTF-8 JSON never does.
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
