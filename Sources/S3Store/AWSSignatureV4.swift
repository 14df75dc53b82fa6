internal import Crypto
internal import Foundation
internal import SecureKeys
internal import SecureStoragePlatform

/// The signature in the `Authorization` header of a request: AWS Signature Version 4.
///
/// As described in "Authenticating Requests: Using the Authorization Header (AWS Signature Version
/// 4)" of the Amazon S3 API Reference. The path is signed as it is sent, as S3 requires: other
/// services of AWS sign a path that is normalised and encoded twice.
struct AWSSignatureV4 {
    /// The region, such as `eu-central-1`.
    var region: String
    /// The service.
    var service = "s3"

    /// What is signed of a request.
    struct Request {
        var method: String
        /// The path, encoded as it is sent.
        var path: String
        /// The parameters in any order, not encoded.
        var query: [(name: String, value: String)] = []
        /// The headers that are signed, `host` and `x-amz-date` among them.
        var headers: [(name: String, value: String)]
        /// The SHA-256 of the body as hexadecimal digits.
        var bodyHash: String
    }

    /// Returns the value of the `Authorization` header.
    func authorization(
        _ request: Request, _ credentials: S3Credentials, at date: Date
    ) -> String {
        let signature = Hex.text(
            HMAC<SHA256>.authenticationCode(
                for: Data(stringToSign(request, at: date).utf8),
                using: key(credentials.secretAccessKey, at: date)))
        return "AWS4-HMAC-SHA256 Credential=\(credentials.accessKeyID)/\(scope(date)), "
            + "SignedHeaders=\(Self.headers(request).names), Signature=\(signature)"
    }

    /// Returns a time as `x-amz-date` has it: `20150830T123600Z`.
    static func timestamp(_ date: Date) -> String {
        date.formatted(
            Date.ISO8601FormatStyle(
                dateSeparator: .omitted, dateTimeSeparator: .standard, timeSeparator: .omitted,
                timeZone: .gmt))
    }

    /// Returns the SHA-256 of a body as hexadecimal digits.
    static func hash(_ body: Data) -> String { Hex.text(SHA256.hash(data: body)) }

    // MARK: - The steps

    func stringToSign(_ request: Request, at date: Date) -> String {
        let canonical = Self.hash(Data(Self.canonical(request).utf8))
        return "AWS4-HMAC-SHA256\n\(Self.timestamp(date))\n\(scope(date))\n\(canonical)"
    }

    static func canonical(_ request: Request) -> String {
        let headers = headers(request)
        return "\(request.method)\n\(request.path)\n\(query(request.query))\n\(headers.lines)\n"
            + "\(headers.names)\n\(request.bodyHash)"
    }

    private func scope(_ date: Date) -> String {
        "\(Self.timestamp(date).prefix(8))/\(region)/\(service)/aws4_request"
    }

    /// Returns the key of a day, region and service.
    private func key(_ secret: SecretBytes, at date: Date) -> SymmetricKey {
        let start = SecretBytes(count: secret.count + 4) { buffer in
            buffer.copyBytes(from: "AWS4".utf8)
            secret.withUnsafeBytes {
                UnsafeMutableRawBufferPointer(rebasing: buffer[4...]).copyMemory(from: $0)
            }
        }
        return [String(Self.timestamp(date).prefix(8)), region, service, "aws4_request"]
            .reduce(SymmetricKey(data: start)) { key, part in
                SymmetricKey(
                    data: HMAC<SHA256>.authenticationCode(for: Data(part.utf8), using: key))
            }
    }

    /// Returns the parameters as they are signed and sent.
    static func query(_ parameters: [(name: String, value: String)]) -> String {
        parameters.map { (encoded($0.name), encoded($0.value)) }.sorted { $0 < $1 }
            .map { "\($0.0)=\($0.1)" }.joined(separator: "&")
    }

    private static func headers(_ request: Request) -> (lines: String, names: String) {
        var values: [String: [String]] = [:]
        for header in request.headers {
            // Spaces around a value do not count, and several count as one.
            let value = header.value.split { $0 == " " || $0 == "\t" }.joined(separator: " ")
            values[header.name.lowercased(), default: []].append(value)
        }
        let sorted = values.sorted { $0.key < $1.key }
        return (
            sorted.map { "\($0.key):\($0.value.joined(separator: ","))\n" }.joined(),
            sorted.map(\.key).joined(separator: ";")
        )
    }

    /// Returns text with everything encoded but RFC 3986's unreserved characters.
    static func encoded(_ text: String) -> String {
        var result: [UInt8] = []
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."),
                UInt8(ascii: "_"), UInt8(ascii: "~"):
                result.append(byte)
            default:
                result.append(UInt8(ascii: "%"))
                result.append(contentsOf: Hex.text([byte]).uppercased().utf8)
            }
        }
        return String(decoding: result, as: UTF8.self)
    }
}
